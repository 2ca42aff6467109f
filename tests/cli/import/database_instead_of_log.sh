. "$CASES/../lib.sh"
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-import other.db out.db
ls
