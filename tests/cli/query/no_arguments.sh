. "$CASES/../lib.sh"
complain mtrace-query
