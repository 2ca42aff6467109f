# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case summary
mtrace-query run.db
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|
#|What to look at
#|  info      At the peak, at 1m00s, worker (libwork.so) held 54 % of 9.8 KiB in 29 blocks.
#|            mtrace-query peak run.db --process 1
#|  info      4.0 KiB more in 6 blocks were live when a signal ended the program, the largest part
#|            from Cache::reserve (cache.c:31): 3.9 KiB in 1 block, allocated once.
#|            mtrace-query leaks run.db --process 1
#|  info      700 B in 7 blocks from Session::clone (session.c:88) were live when a signal ended the
#|            program; they came throughout the run, 8 B/s. Other blocks of the same stacks are freed
#|            in Session::close (session.c:140). Whether the program can still reach them is not
#|            known.
#|            mtrace-query leaks-by-stack run.db --site 2 --process 1 --stacks
#|  info      82 % of the allocations have stacks through code without unwind information (as of a
#|            JIT), which were followed by frame pointers.
#|            mtrace-query unwind-quality run.db --process 1
#|
#|allocated   14.2 KiB in 111 blocks; 1 realloc, 0 failures
#|freed       9.3 KiB in 97 blocks; 0 blocks from before it was recorded
#|leaked      4.9 KiB in 14 blocks, of these 300 B suppressed
#|temporary   82 blocks, 74 % of all
#|elided      10 blocks, all of them freed soon: in all totals, without rows; the peak may have been higher by those live at one time (meta: elided.most_live_bytes)
#|peak        9.8 KiB in 40 blocks at 1m00s
#|recording   1,000 events of 2 threads; 7 stacks, 15 % of allocations with a complete one
#|
#|  bytes  blocks  allocated most often
#|9.1 KiB      91  worker  libwork.so
#|1.2 KiB      12  Session::clone  session.c:88
#|   40 B       4  main  main.c:10
#|
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|
#|What to look at
#|  info      At the peak, at 20.0 s, Cache::reserve (cache.c:31) held 100 % of 500 B in 5 blocks.
#|            mtrace-query peak run.db --process 2
#|  info      100 B in 1 block was never freed: from Cache::reserve (cache.c:31). Whether the program
#|            could still reach them is not known (record with --heap-image=exit).
#|            mtrace-query leaks run.db --process 2
#|
#|allocated   500 B in 5 blocks; 0 reallocs, 0 failures
#|freed       400 B in 4 blocks; 3 blocks from before it was recorded
#|leaked      100 B in 1 block
#|temporary   4 blocks, 80 % of all
#|peak        500 B in 5 blocks at 20.0 s
#|recording   50 events of 1 thread; 1 stack, 100 % of allocations with a complete one
#|
#|bytes  blocks  allocated most often
#|500 B       5  Cache::reserve  cache.c:31
#|
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
#|no lines in /opt/server/lib/libwork.so: built without -g
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
# case ends
# The summary counts modules without line numbers, and suggests the peak if there are no leaks.
sqlite3 run.db "UPDATE objects SET debug_note = 'built without -g' WHERE object_id = 1"
mtrace-query run.db | tail -n 3
sqlite3 run.db "UPDATE objects SET debug_note = 'built without -g'"
mtrace-query run.db | tail -n 2
mtrace-query run.db --wide | grep '^no lines'
sqlite3 run.db "UPDATE backtrace_totals SET leaked_bytes = 0, leaked_blocks = 0"
mtrace-query run.db 2>/dev/null | tail -n 1
# expect stdout
#|no lines in /opt/server/lib/libwork.so: built without -g
#|no lines in /usr/lib/libc.so.6: built without -g
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
#|no lines in 4 modules (server, libwork.so, …): --wide shows why, and how to get them
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
#|no lines in /opt/server/bin/server: built without -g
#|no lines in /opt/server/lib/libwork.so: built without -g
#|no lines in /usr/lib/libc.so.6: built without -g
#|no lines in /usr/lib/libstdc++.so.6: built without -g
#|next: mtrace-query peak run.db    # or temporary, hot, fragmentation
# case json
mtrace-query summary run.db --format json --process 2
# expect stdout
#|[
#| {"process_id":2,"executable":"/opt/server/bin/server","pid":813,"end_kind":"exit","end_value":0,"duration_ns":20000000000,"threads":1,"allocations":5,"allocated_bytes":500,"frees":4,"freed_bytes":400,"reallocs":0,"realloc_copied_bytes":0,"failures":0,"inherited_frees":3,"peak_bytes":500,"peak_blocks":5,"peak_ns":20000000000,"leaked_bytes":100,"leaked_blocks":1,"suppressed_bytes":0,"suppressed_blocks":0,"temporary_blocks":4,"temporary_bytes":400,"temporary_share":0.8,"elided_blocks":0,"slack_bytes":20,"heap_at_peak_bytes":null,"heap_at_peak_live_bytes":null,"heap_at_peak_slack_bytes":null,"heap_at_peak_overhead_bytes":null,"heap_at_peak_hole_bytes":null,"heap_at_peak_free_page_bytes":null,"heap_at_peak_top_bytes":null,"outside_heap_at_peak_live_bytes":null,"allocator":null,"release_advice":"call the purge function of the allocator","decay_advice":"see how its free pages decay","arenas":0,"foreign_heaps":null,"unseen_heaps":0,"heap_at_end_bytes":null,"heap_at_end_live_bytes":null,"heap_at_end_slack_bytes":null,"heap_at_end_overhead_bytes":null,"heap_at_end_hole_bytes":null,"heap_at_end_free_page_bytes":null,"heap_at_end_top_bytes":null,"rss_highest_bytes":null,"rss_highest_ns":null,"rss_max_bytes":null,"rss_samples":null,"rss_own_bytes":null,"rss_parts_ns":null,"rss_parts_bytes":null,"rss_heaps_bytes":null,"rss_mappings_bytes":null,"rss_stacks_bytes":null,"rss_shared_bytes":null,"rss_files_bytes":null,"rss_other_bytes":null,"windows":1,"recorded_ns":20000000000,"recorded_share":1.0,"events":50,"events_dropped":0,"stacks":1,"complete_share":1.0,"sample_bytes":null,"allocations_margin":null,"allocated_bytes_margin":null,"frees_margin":null,"freed_bytes_margin":null,"leaked_blocks_margin":null,"leaked_bytes_margin":null,"peak_blocks_margin":null,"peak_bytes_margin":null,"suppressed_blocks_margin":null,"suppressed_bytes_margin":null,"findings":[{"severity":"info","sentence":"At the peak, at 20.0 s, Cache::reserve (cache.c:31) held 100 % of 500 B in 5 blocks.","bytes":500,"blocks":5,"command":"mtrace-query peak run.db --process 2","page":"peak?process=2","sql":"SELECT * FROM peak WHERE process_id = 2"},{"severity":"info","sentence":"100 B in 1 block was never freed: from Cache::reserve (cache.c:31). Whether the program could still reach them is not known (record with --heap-image=exit).","bytes":100,"blocks":1,"command":"mtrace-query leaks run.db --process 2","page":"leaks?process=2","sql":"SELECT * FROM leaks WHERE process_id = 2 AND suppressed_by IS NULL"}]}
#|]
# case names
# summary --json has the rows of the view summary, as stock SQLite reads them, with the same names and values.
mtrace-query summary run.db --format json >summary.json
sqlite3 run.db <<'SQL'
CREATE TEMP TABLE printed AS SELECT o.value ->> 'process_id' AS process_id, f.key AS name, f.value
  FROM json_each(readfile('summary.json')) AS o, json_each(o.value) AS f WHERE f.key NOT IN ('process_id', 'findings');
CREATE TEMP TABLE view AS SELECT process_id, name, value FROM main.summary;
SELECT count(*) > 50 AND count(DISTINCT process_id) > 1 FROM printed;
SELECT 'only in JSON', * FROM (SELECT * FROM printed EXCEPT SELECT * FROM view);
SELECT 'only in SQL', * FROM (SELECT * FROM view EXCEPT SELECT * FROM printed);
SQL
# expect stdout
#|1
# case rss
# The highest RSS sample is split into parts, wherever the peak of live bytes is. If that sample has no parts, the highest one with parts is
# used.
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 20000, 4096, 19000, 30000, 8192, 0, 20000, 12808),
  (1, 59000000000, 50000, 30000, 15000, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (1, 62000000000, 58000, 42000, 15000, NULL, 9000, 0, 0, 34000, 15000, 0)"
mtrace-query run.db | grep -E '^(peak|RSS)'
sqlite3 run.db "UPDATE memory_samples SET heap_resident_bytes = NULL WHERE at_ns = 50000000000"
mtrace-query run.db | grep -E '^RSS'
# Without parts, as in recordings of heaptrack, RSS is not split.
sqlite3 run.db "DELETE FROM memory_samples; INSERT INTO memory_samples VALUES (1, 5, 90000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
mtrace-query run.db | grep -E '^RSS'
# expect stdout
#|peak        9.8 KiB in 40 blocks at 1m00s
#|RSS peak    87.9 KiB at 50.0 s, the highest of 3 samples
#|RSS split   18.6 KiB heaps + 29.3 KiB own mappings + 8.0 KiB stacks + 19.5 KiB files + 12.5 KiB not mapped through libc, without 4.0 KiB of mtrace
#|RSS peak    87.9 KiB at 50.0 s, the highest of 3 samples
#|RSS split   56.6 KiB at 1m02s = 8.8 KiB heaps + 0 B own mappings + 33.2 KiB shared memory + 14.6 KiB files + 0 B not mapped through libc, without 4.0 KiB of mtrace
#|RSS peak    87.9 KiB at 5 ns, the highest of 1 sample
# case rss_of_kernel
# The peak of RSS is the kernel's count, with or without samples.
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; UPDATE processes SET max_rss_bytes = 123456"
mtrace-query run.db | grep -E '^RSS'
sqlite3 run.db "INSERT INTO memory_samples VALUES (1, 50000000000, 90000, 70000, 20000, 4096, 20000, 0, 0, 0, 20000, 50000)"
mtrace-query run.db | grep -E '^RSS'
# A sample above the kernel's peak is named as a contradiction.
sqlite3 run.db "UPDATE processes SET max_rss_bytes = 80000"
mtrace-query run.db | grep -E '^RSS [ps][ea]'
# expect stdout
#|RSS peak    121 KiB as the kernel counted
#|RSS peak    121 KiB as the kernel counted, mtrace's own memory included
#|RSS sampled 87.9 KiB at 50.0 s, the highest of 1 sample
#|RSS split   19.5 KiB heaps + 0 B own mappings + 19.5 KiB files + 48.8 KiB not mapped through libc, without 4.0 KiB of mtrace
#|RSS peak    78.1 KiB as the kernel counted, mtrace's own memory included
#|RSS sampled 87.9 KiB at 50.0 s, the highest of 1 sample; above the peak, so one of the two is inexact
