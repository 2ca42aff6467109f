. "$CASES/../lib.sh"
complain mtrace-query none.db
ls
