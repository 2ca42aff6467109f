-- Site 2 is steady: 7 of 12 blocks (58.3 %), allocated from 10 s to 90 s of 100 s; freed mostly by session.c:140 (4 blocks to 1).
-- Site 3 and site 5 leak one block; site 5 below setlocale, which a rule suppresses: last. Site 6: all at 5 s, a burst.
-- Site 1: two blocks are no steady leak. Process 3 ended by exec: its block is no leak. In process 2 site 3 leaks 1 of 5.
-- Site 13 leaks from 10 s to 95 s, too, but 900 of its 1000 bytes came in one part: a burst.
-- Snapshots are taken where one of the 64 parts ends. Site 14 grows in the first 30 parts: a plateau. Sites 15 and 16
-- leak 80 bytes allocated in the last four parts, but 15 had as much live since the 10th: a plateau of new blocks; and 16 had
-- 100 and nothing alternately: a saw tooth. Site 17 leaks in every part from the 45th on: late. Site 18 leaks 10 bytes in each
-- part beside 10000 that it has to the end and frees there: steady.
-- Sites 7 and 8 tie in everything but the id, and their place is unknown.
.read code.sql
.read totals.sql
INSERT INTO call_sites(call_site_id) VALUES (7), (8);
INSERT INTO backtraces VALUES (12, NULL, 12, 10, 1, 8, 'truncated'), (13, NULL, 13, 10, 1, 7, 'truncated');
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, 12, 1, 7, 0, 0, 1, 7, 9, 9, 0, 0, 0, 0, 7, 9, 9, 9, 7, 7, 0, 0, 1, 1, 0, 0, 0, 0;
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, 13, 1, 7, 0, 0, 1, 7, 9, 9, 0, 0, 0, 0, 7, 9, 9, 9, 7, 7, 0, 0, 1, 1, 0, 0, 0, 0;
-- Blocks of the dynamic loader (15) and of libstdc++ as it was loaded (16) are its own; those that an initializer of the
-- server (17), or of libstdc++ for the server (19), makes are not.
INSERT INTO objects(object_id, path) VALUES (5, '/lib64/ld-linux-x86-64.so.2');
INSERT INTO frames VALUES (14, 5, 0x5000, 0);
INSERT INTO frame_lines(frame_id, inline_level) VALUES (14, 0);
INSERT INTO call_sites(call_site_id, object_id) VALUES (9, 5), (10, 4), (11, 2), (12, 4);
INSERT INTO backtraces VALUES (15, NULL, 19, 14, 1, 9, 'complete'), (16, 15, 16, 4, 2, 10, 'complete'),
  (17, 15, 19, 7, 2, 11, 'complete'), (19, 17, 19, 4, 3, 12, 'complete');
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, backtrace_id, 1, backtrace_id, 0, 0, 1, backtrace_id, 9, 9, 0, 0, 0, 0, 7, 9, 9, 9, 7, 7, 0, 0,
  1, 1, 0, 0, 0, 0 FROM backtraces WHERE backtrace_id BETWEEN 15 AND 19;
INSERT INTO call_sites(call_site_id, object_id) VALUES (13, 3);
INSERT INTO backtraces VALUES (20, NULL, 20, 8, 1, 13, 'complete');
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, 20, 4, 1000, 0, 0, 4, 1000, 10000000000, 95000000000, 0, 0, 0, 0, 1000, 9, 9, 9, 25, 450,
  0, 0, 4, 4, 0, 0, 0, 0;
INSERT INTO leaked_allocations VALUES (1, 20, 6, 1, 50), (1, 20, 25, 2, 900), (1, 20, 60, 1, 50);
INSERT INTO leaked_allocations SELECT 1, backtrace_id, 0, 1, leaked_bytes FROM backtrace_totals WHERE backtrace_id BETWEEN 12 AND 19;
INSERT INTO call_sites(call_site_id, object_id) VALUES (14, 3), (15, 3), (16, 3), (17, 3), (18, 3);
INSERT INTO backtraces SELECT call_site_id + 7, NULL, call_site_id + 7, 8, 1, call_site_id, 'complete'
FROM call_sites WHERE call_site_id BETWEEN 14 AND 18;
WITH RECURSIVE parts(part) AS (VALUES (0) UNION ALL SELECT part + 1 FROM parts WHERE part < 63)
INSERT INTO leaked_allocations
SELECT 1, 21, part, 1, 10 FROM parts WHERE part < 30
UNION ALL SELECT 1, 22, part, 2, 20 FROM parts WHERE part >= 60
UNION ALL SELECT 1, 23, part, 2, 20 FROM parts WHERE part >= 60
UNION ALL SELECT 1, 24, part, 1, 10 FROM parts WHERE part >= 45
UNION ALL SELECT 1, 25, part, 1, 10 FROM parts;
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes)
SELECT 1, backtrace_id, sum(blocks), sum(bytes), 0, 0, sum(blocks), sum(bytes), min(part) * 1562500000, max(part) * 1562500000,
  0, 0, 0, 0, sum(bytes), 9, 9, 9, 10, 10, 0, 0, 1, 1, 0, 0, 0, 0
FROM leaked_allocations WHERE backtrace_id BETWEEN 21 AND 25 GROUP BY backtrace_id;
WITH RECURSIVE parts(part) AS (VALUES (1) UNION ALL SELECT part + 1 FROM parts WHERE part < 64)
INSERT INTO snapshots SELECT part, 1, part * 1562500000, iif(part = 64, 'end', 'regular') FROM parts;
INSERT INTO snapshots VALUES (65, 1, 50000000000, 'peak');
INSERT INTO snapshot_backtraces
SELECT snapshot_id, 21, 10 * min(snapshot_id, 30), 1 FROM snapshots WHERE reason <> 'peak'
UNION ALL SELECT snapshot_id, 22, 80, 1 FROM snapshots WHERE snapshot_id BETWEEN 10 AND 64
UNION ALL SELECT snapshot_id, 23, iif(snapshot_id = 64, 80, snapshot_id / 4 % 2 * 100), 1 FROM snapshots WHERE reason <> 'peak'
UNION ALL SELECT snapshot_id, 24, max(0, 10 * (snapshot_id - 45)), 1 FROM snapshots WHERE reason <> 'peak'
UNION ALL SELECT snapshot_id, 25, iif(snapshot_id = 64, 640, 10000 + 10 * snapshot_id), 1 FROM snapshots WHERE reason <> 'peak'
UNION ALL SELECT 65, 24, 99999, 1;
-- Site 19 leaks 10 bytes in each part beside a queue that fills to 5000 bytes and drains in the first half, which is all that its
-- live bytes show: steady, because every eighth of the life has left its share.
INSERT INTO call_sites(call_site_id, object_id) VALUES (19, 3);
INSERT INTO backtraces VALUES (26, NULL, 26, 8, 1, 19, 'complete');
WITH RECURSIVE parts(part) AS (VALUES (0) UNION ALL SELECT part + 1 FROM parts WHERE part < 63)
INSERT INTO leaked_allocations SELECT 1, 26, part, 1, 10 FROM parts;
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes)
SELECT 1, 26, 64, 640, 0, 0, 64, 640, 1562500000, 98437500000, 0, 0, 0, 0, 640, 9, 9, 9, 10, 10, 0, 0, 1, 1, 0, 0, 0, 0;
INSERT INTO snapshot_backtraces
SELECT snapshot_id, 26, 10 * snapshot_id + max(0, 5000 - 250 * abs(20 - snapshot_id)), 1 FROM snapshots WHERE reason <> 'peak';
-- More blocks of site 1 were freed on stacks that are not told apart (0) than anywhere else: no place is shown. Of stack 6 in process 2 as
-- many.
INSERT INTO free_sites VALUES (1, 2, 0, 3, 30), (2, 6, 0, 4, 400);
-- expect
--|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
--|1,700,7,0.583333333333333,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,"Session::close /opt/server/src/session.c:140",,44800,,,
--|1,640,64,1.0,,,,/opt/server/lib/libwork.so,18,1,0,98437500000,steady,,,40960,,,
--|1,640,64,1.0,,,,/opt/server/lib/libwork.so,19,1,1562500000,98437500000,steady,,,40960,,,
--|1,190,19,1.0,,,,/opt/server/lib/libwork.so,17,1,70312500000,98437500000,late,,,12160,,,
--|1,4000,1,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,1,200000000,200000000,once,,,4000,,,
--|1,1000,4,1.0,,,,/opt/server/lib/libwork.so,13,1,10000000000,95000000000,burst,,,1000,,,
--|1,300,30,1.0,,,,/opt/server/lib/libwork.so,14,1,0,45312500000,plateau,,,300,,,
--|2,100,1,0.2,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,1,15000000000,15000000000,once,"Cache::reserve /opt/server/src/cache.c:31",,100,,,
--|1,80,8,1.0,,,,/opt/server/lib/libwork.so,15,1,93750000000,98437500000,plateau,,,80,,,
--|1,80,8,1.0,,,,/opt/server/lib/libwork.so,16,1,93750000000,98437500000,"saw tooth",,,80,,,
--|1,30,3,1.0,,,,/opt/server/lib/libwork.so,6,1,5000000000,5000000000,burst,,,30,,,
--|1,20,2,0.5,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,1,1000000000,2000000000,burst,,,20,,,
--|1,19,1,1.0,,,,/usr/lib/libstdc++.so.6,12,1,9,9,once,,,19,,,
--|1,17,1,1.0,,,,/opt/server/bin/server,11,1,9,9,once,,,17,,,
--|1,7,1,1.0,,,,,7,1,9,9,once,,,7,,,
--|1,7,1,1.0,,,,,8,1,9,9,once,,,7,,,
--|1,300,1,1.0,worker,,,/opt/server/lib/libwork.so,5,1,3000000000,3000000000,once,,leak:^setlocale$,300,,,
--|1,16,1,1.0,,,,/usr/lib/libstdc++.so.6,10,1,9,9,once,,"made by libstdc++ as it was loaded",16,,,
--|1,15,1,1.0,,,,/lib64/ld-linux-x86-64.so.2,9,1,9,9,once,,"made by the dynamic loader",15,,,
