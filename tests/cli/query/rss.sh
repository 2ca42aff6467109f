# What is split is the highest sample, wherever the peak of live bytes is; or, if it has no parts, the highest that has them.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 20000, 4096, 19000, 30000, 8192, 0, 20000, 12808),
  (1, 59000000000, 50000, 30000, 15000, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (1, 62000000000, 58000, 42000, 15000, NULL, 9000, 0, 0, 34000, 15000, 0)"
mtrace-query run.db | grep -E '^(peak|RSS)'
sqlite3 run.db "UPDATE memory_samples SET heap_resident_bytes = NULL WHERE at_ns = 50000000000"
mtrace-query run.db | grep -E '^RSS'
# Where nothing is known of the parts, as of recordings of heaptrack, nothing is split.
sqlite3 run.db "DELETE FROM memory_samples; INSERT INTO memory_samples VALUES (1, 5, 90000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
mtrace-query run.db | grep -E '^RSS'
# expect stdout
#|peak        9.8 KiB in 40 blocks at 1m00s
#|RSS peak    87.9 KiB at 50.0 s, the highest of 3 samples
#|RSS split   18.6 KiB heaps + 29.3 KiB own mappings + 8.0 KiB stacks + 19.5 KiB files + 12.5 KiB not mapped through libc, without 4.0 KiB of mtrace
#|RSS peak    87.9 KiB at 50.0 s, the highest of 3 samples
#|RSS split   56.6 KiB at 1m02s = 8.8 KiB heaps + 0 B own mappings + 33.2 KiB shared memory + 14.6 KiB files + 0 B not mapped through libc, without 4.0 KiB of mtrace
#|RSS peak    87.9 KiB at 5 ns, the highest of 1 sample
