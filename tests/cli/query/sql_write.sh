. "$CASES/../fixture.sh"
mtrace-query sql run.db "DELETE FROM processes"
# expect status 2
# expect stderr
#|mtrace-query: only reading is allowed: one SELECT
#|Try 'mtrace-query --help'.
