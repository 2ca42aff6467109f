. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
complain mtrace-query sql run.db "SELECT :id"
complain mtrace-query sql run.db "SELECT ?"
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: the statement has the parameter ':id', which has no value here; write the value into the statement
#|Try 'mtrace-query --help'.
#|mtrace-query: the statement has the parameter '?', which has no value here; write the value into the statement
#|Try 'mtrace-query --help'.
