. "$CASES/../fixture.sh"
mtrace-query leaks run.db -n many
# expect status 2
# expect stderr
#|mtrace-query: --count 'many': a whole number is expected
#|Try 'mtrace-query --help'.
