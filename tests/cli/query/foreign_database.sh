. "$CASES/../lib.sh"
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-query leaks other.db
# expect stdout
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: 'other.db' is a database of another program; mtrace-import makes ours
