# What the kernel counted is the peak of RSS, with or without samples.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; UPDATE processes SET max_rss_bytes = 123456"
mtrace-query run.db | grep -E '^RSS'
sqlite3 run.db "INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 20000, 4096, 20000, 0, 0, 0, 20000, 50000)"
mtrace-query run.db | grep -E '^RSS'
# expect stdout
#|RSS peak    121 KiB as the kernel counted
#|RSS peak    121 KiB as the kernel counted, mtrace's own memory included
#|RSS sampled 87.9 KiB at 50.0 s, the highest of 1 sample
#|RSS split   19.5 KiB heaps + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
