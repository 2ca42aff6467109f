. "$CASES/../lib.sh"
echo text >text.db
complain mtrace-query text.db
# expect stdout
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: 'text.db' is not an mtrace database; mtrace-import makes one
