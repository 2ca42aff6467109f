-- 63 regular snapshots of process 1, which lives for 100 s, one each 1.5625 s, and the end, at which everything is freed.
-- Site 3 rises by 100 bytes from one to the next, 100 to 6300: 6200 in all, a tenth (620 more than 100) at the 8th (12.5 s), nine
--   tenths (5680) at the 57th, with nothing recorded for 10 * 1.5625 s between: 0.8 * 6200 / (39 * 1.5625 s) = 81 bytes/s.
-- Site 2, stacks 4 and 5 together: nothing until the 40th, then 10 bytes at each: late, 230 bytes, a tenth (23) at the 43rd
--   (67.1875 s), nine tenths (207) at the 61st: 0.8 * 230 / (18 * 1.5625 s) = 6 bytes/s.
-- Site 5 rises to 500 at the 20th and stays: a plateau. Site 6 jumps once: a burst. Site 1 goes up and down: it
-- ends high, but was as high before: a saw tooth. Site 4 stays where it is. Process 2 has too few snapshots.
-- Process 4 begins its teardown at 40 of 64 s: site 3 rose by 100 bytes each second until then, site 5 to 500 in five seconds, but
-- for the bytes of the first snapshot; a blip at the 50th does not end the fall. Process 5 is the same, but was killed: no growth.
-- Process 6 frees all at 40 s, too, and then allocates again: what it does is no teardown. Process 7 frees all within two seconds,
-- and works on with little for 22 s.
-- Process 8 is a saw tooth: site 3 rises by 60 bytes each second, and falls after eight seconds to 40 bytes more than before. Its
-- bottoms rise from 120 bytes at 24 s to 280 at 56 s: 5 bytes/s. Process 9 is the same, but for a single fall: no saw tooth.
.read code.sql
DELETE FROM windows WHERE process_id = 1;
INSERT INTO windows(window_id, process_id, start_ns, end_ns, allocated_blocks, allocated_bytes, leaked_blocks, leaked_bytes, recorded_share) VALUES
  (101, 1, 0, 31250000000, 0, 0, 0, 0, 1), (102, 1, 46875000000, NULL, 0, 0, 0, 0, 1);
WITH RECURSIVE seconds(s) AS (VALUES (1) UNION ALL SELECT s + 1 FROM seconds WHERE s < 64)
INSERT INTO snapshots SELECT s, 1, s * 1562500000, iif(s = 64, 'end', 'regular') FROM seconds;
INSERT INTO snapshots VALUES (65, 2, 10000000000, 'regular'), (66, 2, 20000000000, 'end'), (67, 1, 500000000, 'peak');
INSERT INTO snapshot_backtraces
SELECT snapshot_id, 6, iif(snapshot_id = 64, 0, 100 * snapshot_id), 1 FROM snapshots WHERE snapshot_id <= 64
UNION ALL SELECT snapshot_id, 4, 5 * (snapshot_id - 40), 1 FROM snapshots WHERE snapshot_id BETWEEN 41 AND 63
UNION ALL SELECT snapshot_id, 5, 5 * (snapshot_id - 40), 1 FROM snapshots WHERE snapshot_id BETWEEN 41 AND 63
UNION ALL SELECT snapshot_id, 8, 25 * min(snapshot_id, 20), 1 FROM snapshots WHERE snapshot_id <= 63
UNION ALL SELECT 30, 11, 1000, 1
UNION ALL SELECT snapshot_id, 2, (snapshot_id % 10) * 30, 1 FROM snapshots WHERE snapshot_id <= 63
UNION ALL SELECT 1, 7, 50, 1
UNION ALL SELECT 65, 6, 1, 1 UNION ALL SELECT 66, 6, 100, 2 UNION ALL SELECT 67, 6, 99999, 1
UNION ALL SELECT 64, 4, 0, 0 UNION ALL SELECT 64, 5, 0, 0;
INSERT INTO processes(process_id, pid, start_ns, end_ns, end_kind) VALUES
  (4, 815, 0, 64000000000, 'exit'), (5, 816, 0, 64000000000, 'signal'), (6, 817, 0, 64000000000, 'exit'),
  (7, 818, 0, 64000000000, 'exit'), (8, 819, 0, 64000000000, 'signal'), (9, 820, 0, 64000000000, 'signal');
WITH RECURSIVE seconds(s) AS (VALUES (1) UNION ALL SELECT s + 1 FROM seconds WHERE s < 64)
INSERT INTO snapshots SELECT 100 * process_id + s, process_id, s * 1000000000, iif(s = 64, 'end', 'regular')
FROM processes, seconds WHERE process_id > 3 AND s <> 63;
INSERT INTO snapshot_backtraces
SELECT snapshot_id, 6, max(iif(process_id = 7, 100, 0), min(100 * s, 4000 - iif(process_id = 7, 2000, 200) * (s - 40)) + iif(s = 50, 200, 0)) + iif(process_id = 6 AND s > 59, 10 * (s - 59), 0), 1
FROM (SELECT *, snapshot_id % 100 AS s FROM snapshots WHERE process_id BETWEEN 4 AND 7)
UNION ALL SELECT snapshot_id, 6, 5 * s + 55 * (s % 8), 1 FROM (SELECT *, snapshot_id % 100 AS s FROM snapshots WHERE process_id = 8)
UNION ALL SELECT snapshot_id, 6, 15 * s + iif(s < 20, 10 * s, 0), 1 FROM (SELECT *, snapshot_id % 100 AS s FROM snapshots WHERE process_id = 9)
UNION ALL SELECT snapshot_id, 8, iif(s > 40, 0, min(100 * s, 500)), 1
FROM (SELECT *, snapshot_id % 100 AS s FROM snapshots WHERE process_id BETWEEN 4 AND 7);
-- expect
--|process_id,grown_bytes,bytes_per_s,pattern,since_ns,from_bytes,to_bytes,function,source,line,module,call_site_id,grown_bytes_margin,weight
--|1,6200,81.395,steady,12500000000,100,6300,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,396800
--|4,3900,97.5,steady,5000000000,100,4000,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,249600
--|9,905,14.196,steady,5000000000,25,930,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,57920
--|8,580,5.0,steady,24000000000,60,640,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,37120
--|1,230,6.542,late,67187500000,0,230,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,,14720
--|1,1000,,burst,46875000000,0,1000,,,,/opt/server/lib/libwork.so,6,,1000
--|1,475,15.2,plateau,4687500000,25,500,worker,,,/opt/server/lib/libwork.so,5,,475
--|4,400,,plateau,2000000000,100,500,worker,,,/opt/server/lib/libwork.so,5,,400
--|1,60,,"saw tooth",95312500000,30,90,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,60
