. "$CASES/../fixture.sh"
mtrace-query stack run.db five
# expect status 2
# expect stderr
#|mtrace-query: 'five' is not a stack's id; mtrace-query groups lists them
#|Try 'mtrace-query --help'.
