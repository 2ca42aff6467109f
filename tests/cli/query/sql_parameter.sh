. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
complain mtrace-query sql run.db "SELECT :id"
complain mtrace-query sql run.db "SELECT ?"
