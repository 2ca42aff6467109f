# What the kernel counted is the peak of RSS, with or without samples.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; UPDATE processes SET max_rss_bytes = 123456"
mtrace-query run.db | grep -E '^RSS'
sqlite3 run.db "INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 20000, 20000, 0, 4096)"
mtrace-query run.db | grep -E '^RSS'
