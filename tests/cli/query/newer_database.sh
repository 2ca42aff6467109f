. "$CASES/../fixture.sh"
cp run.db newer.db; sqlite3 newer.db "PRAGMA user_version = 99"; mtrace-query leaks newer.db
