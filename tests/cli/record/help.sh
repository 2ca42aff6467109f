# The help begins with what everyone needs; sending to other machines comes late, diagnostics last.
mtrace-record --help | sed -n 's/^ \([A-Z].*:\)$/\1/p'
# expect stdout
#|Where the log goes:
#|A program that runs already:
#|What is recorded:
#|Stacks:
#|Size of the log:
#|Sending it to another machine, where mtrace-gather takes it:
#|Diagnostics:
