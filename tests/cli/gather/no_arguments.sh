mtrace-gather
# expect status 2
# expect stderr
#|mtrace-gather: no DIR was named
#|Try 'mtrace-gather --help' or 'mtrace-gather --usage' for more information.
