. "$CASES/../lib.sh"
complain mtrace-record
