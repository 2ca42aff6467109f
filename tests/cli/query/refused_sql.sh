# SQL that is wrong, or would change the database.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
echo '== sql attach'
complain mtrace-query sql run.db "ATTACH 'x' AS y"
echo '== sql syntax'
complain mtrace-query sql run.db "SELEC 1"
echo '== sql two'
complain mtrace-query sql run.db "SELECT 1; SELECT 2"
echo '== sql write'
complain mtrace-query sql run.db "DELETE FROM processes"
# expect stdout
#|== sql attach
#|status 2, lines on stderr 2
#|== sql syntax
#|status 2, lines on stderr 2
#|== sql two
#|status 2, lines on stderr 2
#|== sql write
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: only reading is allowed: one SELECT
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot run the statement: near "SELEC": syntax error
#|Try 'mtrace-query --help'.
#|mtrace-query: one SELECT is expected, found more
#|Try 'mtrace-query --help'.
#|mtrace-query: only reading is allowed: one SELECT
#|Try 'mtrace-query --help'.
