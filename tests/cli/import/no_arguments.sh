. "$CASES/../lib.sh"
complain mtrace-import
