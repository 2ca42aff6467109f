. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELECT 1; SELECT 2"
# expect status 2
# expect stderr
#|mtrace-query: one SELECT is expected, found more
#|Try 'mtrace-query --help'.
