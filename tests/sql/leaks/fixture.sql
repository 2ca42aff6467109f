-- Site 2 is steady: 7 of 12 blocks (58.3 %), births from 10 s to 90 s of 100 s; freed mostly by session.c:140 (4 blocks to 1).
-- Site 3 and site 5 leak one block; site 5 below setlocale, which a rule suppresses: last. Site 6: all at 5 s, a burst.
-- Site 1: two blocks are no steady leak. Process 3 ended by exec: its block is no leak. In process 2 site 3 leaks 1 of 5.
-- Sites 7 and 8 tie in everything but the id, and nobody says where they are.
.read code.sql
.read totals.sql
INSERT INTO call_sites(call_site_id) VALUES (7), (8);
INSERT INTO backtraces VALUES (12, NULL, 12, 10, 1, 8, 'truncated'), (13, NULL, 13, 10, 1, 7, 'truncated');
INSERT INTO backtrace_totals SELECT 1, 12, 1, 7, 0, 0, 1, 7, 9, 9, 0, 0, 0, 0, 7, 9, 9, 9, 7, 7, 0, 0, 1, 1, 0, 0, 0, 0;
INSERT INTO backtrace_totals SELECT 1, 13, 1, 7, 0, 0, 1, 7, 9, 9, 0, 0, 0, 0, 7, 9, 9, 9, 7, 7, 0, 0, 1, 1, 0, 0, 0, 0;
-- Blocks of the dynamic loader (15) and of libstdc++ as it was loaded (16) are its own; those that an initializer of the
-- server (17), or of libstdc++ for the server (19), makes are not.
INSERT INTO objects(object_id, path) VALUES (5, '/lib64/ld-linux-x86-64.so.2');
INSERT INTO frames VALUES (14, 5, 0x5000, 0);
INSERT INTO frame_lines(frame_id, inline_level) VALUES (14, 0);
INSERT INTO call_sites(call_site_id, object_id) VALUES (9, 5), (10, 4), (11, 2), (12, 4);
INSERT INTO backtraces VALUES (15, NULL, 19, 14, 1, 9, 'complete'), (16, 15, 16, 4, 2, 10, 'complete'),
  (17, 15, 19, 7, 2, 11, 'complete'), (19, 17, 19, 4, 3, 12, 'complete');
INSERT INTO backtrace_totals SELECT 1, backtrace_id, 1, backtrace_id, 0, 0, 1, backtrace_id, 9, 9, 0, 0, 0, 0, 7, 9, 9, 9, 7, 7, 0, 0,
  1, 1, 0, 0, 0, 0 FROM backtraces WHERE backtrace_id BETWEEN 15 AND 19;
