. "$CASES/../fixture.sh"
sqlite3 run.db "DROP VIEW leaks; CREATE VIEW leaks AS SELECT 1 AS old"
mtrace-query leaks run.db --format csv -n 1
