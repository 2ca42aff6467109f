. "$CASES/../lib.sh"
echo text >text.db
complain mtrace-query text.db
