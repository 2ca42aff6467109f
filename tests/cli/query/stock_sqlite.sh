. "$CASES/../fixture.sh"
sqlite3 run.db "SELECT leaked_bytes, function FROM leaks LIMIT 3"
