. "$CASES/../lib.sh"
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-query leaks other.db
