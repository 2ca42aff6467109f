. "$CASES/../lib.sh"
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-import other.db out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|other.db
# expect stderr
#|mtrace-import: 'other.db' is a database, not a log; open it with mtrace-query
