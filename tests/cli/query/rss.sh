# What is split is the highest sample, wherever the peak of live bytes is.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 20000, 20000, 60000, 4096),
  (1, 59000000000, 50000, 30000, 15000, 20000, 0, NULL), (1, 62000000000, 58000, 42000, 15000, 9000, 0, NULL)"
mtrace-query run.db | grep -E '^(peak|RSS)'
# Where nothing is known of the parts, as of recordings of heaptrack, nothing is split.
sqlite3 run.db "DELETE FROM memory_samples; INSERT INTO memory_samples VALUES (1, 5, 90000, NULL, NULL, NULL, 0, NULL)"
mtrace-query run.db | grep -E '^RSS'
# expect stdout
#|peak        9.8 KiB in 40 blocks at 1m00s
#|RSS peak    87.9 KiB at 50.0 s, the highest of 3 samples
#|RSS split   19.5 KiB heaps + 48.8 KiB own mappings + 19.5 KiB files + 0 B other, without 4.0 KiB of mtrace's log
#|RSS peak    87.9 KiB at 5 ns, the highest of 1 sample
