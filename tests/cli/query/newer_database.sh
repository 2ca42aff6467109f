. "$CASES/../fixture.sh"
cp run.db newer.db; sqlite3 newer.db "PRAGMA user_version = 99"; mtrace-query leaks newer.db
# expect status 1
# expect stderr
#|mtrace-query: 'newer.db' has schema 99, this mtrace reads 1; use a newer mtrace
