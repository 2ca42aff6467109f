-- Stack totals that the fixtures share. Times in seconds are spelt out in nanoseconds.
--
--   process 1
--     stack 4 (site 2)  10 blocks, 1000 bytes; 4 freed, 400 bytes; 6 leaked, 600 bytes, allocated from 10 s to 90 s
--     stack 5 (site 2)   2 blocks,  200 bytes; 1 freed, 100 bytes; 1 leaked, 100 bytes, allocated at 50 s
--     stack 6 (site 3)   1 block,  4000 bytes; leaked, allocated at 0.2 s
--     stack 2 (site 1)   4 blocks,   40 bytes; 2 freed, 20 bytes; 2 leaked, 20 bytes, allocated at 1 s and 2 s
--     stack 8 (site 5)  90 blocks, 9000 bytes; all freed together, 10 of them elided
--     stack 9 (site 5)   1 block,   300 bytes; leaked below setlocale, allocated at 3 s
--     stack 11 (site 6)  3 blocks,   30 bytes; 3 leaked at 5 s together: a burst
--   process 2: stack 6   5 blocks,  500 bytes; 4 freed; 1 leaked, 100 bytes, allocated at 15 s
--   process 3: stack 2   1 block,    64 bytes, live when exec replaced the process: no leak
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes,
  leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes,
  own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns,
  chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) VALUES
  (1,  4, 10, 1000,  4,  400, 6,  600, 10000000000, 90000000000,  2,  200,  5,  500,  600, 90000000000, 1000000000, 90000000000, 100, 100,  80, 4000000000, 10, 6, 0, 0, 0, 0),
  (1,  5,  2,  200,  1,  100, 1,  100, 50000000000, 50000000000,  0,    0,  1,  100,  200, 49000000000, 48000000000, 50000000000, 100, 100,  16, 1000000000,  2, 1, 1, 50, 0, 0),
  (1,  6,  1, 4000,  0,    0, 1, 4000,   200000000,   200000000,  0,    0,  1, 4000, 4000,   200000000,  200000000,   200000000, 4000, 4000, 8, 0, 1, 1, 0, 0, 0, 0),
  (1,  2,  4,   40,  2,   20, 2,   20,  1000000000,  2000000000,  0,    0,  2,   20,   30,  2000000000,  500000000,  2000000000,  10,  10,  32, 200000000, 4, 2, 0, 0, 0, 0),
  (1,  8, 90, 9000, 90, 9000, 0,    0, NULL, NULL,               80, 8000, 28, 5050, 5050, 60000000000, 1000000000, 99000000000, 100, 100, 720, 8000, 90, 0, 0, 0, 10, 1000),
  (1,  9,  1,  300,  0,    0, 1,  300,  3000000000,  3000000000,  0,    0,  1,  300,  300,  3000000000, 3000000000, 3000000000, 300, 300, 4, 0, 1, 1, 0, 0, 0, 0),
  (1, 11,  3,   30,  0,    0, 3,   30,  5000000000,  5000000000,  0,    0,  2,   30,   30,  5000000000, 5000000000, 5000000000, 10, 10, 42, 0, 3, 3, 0, 0, 0, 0),
  (2,  6,  5,  500,  4,  400, 1,  100, 15000000000, 15000000000,  4,  400,  5,  500,  500, 20000000000, 11000000000, 20000000000, 100, 100, 20, 40000, 5, 1, 0, 0, 0, 0),
  (3,  2,  1,   64,  0,    0, 1,   64, 40500000000, 40500000000,  0,    0,  1,   64,   64, 40500000000, 40500000000, 40500000000, 64, 64, 8, 0, 1, 1, 0, 0, 0, 0);
-- Which sites free: session.c:140 most of site 2; for stack 8 a tie of sites 1 and 5, which the lower id wins.
INSERT INTO free_sites(process_id, backtrace_id, free_backtrace_id, blocks, bytes) VALUES
  (1, 4, 7, 3, 300), (1, 4, 2, 1, 100), (1, 5, 7, 1, 100), (1, 2, 2, 2, 20), (1, 8, 8, 40, 4000), (1, 8, 2, 40, 4000),
  (2, 6, 6, 4, 400);
-- When leaked blocks were allocated, in 64 equal parts of each process's life (of process 1: 1.5625 s each).
INSERT INTO leaked_allocations(process_id, backtrace_id, part, blocks, bytes) VALUES
  (1, 4, 6, 1, 100), (1, 4, 19, 1, 100), (1, 4, 31, 1, 100), (1, 4, 40, 1, 100), (1, 4, 50, 1, 100), (1, 4, 57, 1, 100),
  (1, 5, 32, 1, 100), (1, 6, 0, 1, 4000), (1, 2, 0, 1, 10), (1, 2, 1, 1, 10), (1, 9, 1, 1, 300), (1, 11, 3, 3, 30),
  (2, 6, 16, 1, 100), (3, 2, 32, 1, 64);

-- All of one class.
INSERT INTO size_classes
SELECT process_id, 257, 320, sum(allocated_blocks), sum(allocated_bytes), sum(leaked_blocks), sum(leaked_bytes), sum(temporary_blocks), sum(slack_bytes)
FROM backtrace_totals GROUP BY process_id;

-- As the importer sums up these stacks by file (lib/totals/function_totals.h); what has no margins is exact.
INSERT INTO module_totals(process_id, object_id, self_allocated_blocks, self_allocated_bytes, self_leaked_bytes, self_peak_bytes,
  self_temporary_blocks, total_allocated_blocks, total_allocated_bytes, total_leaked_bytes, total_peak_bytes, total_temporary_blocks) VALUES
  (1, 1, 0, 0, 0, 0, 0, 108, 14540, 5020, 9970, 82), (1, 2, 17, 5240, 4720, 4620, 2, 17, 5240, 4720, 4620, 2),
  (1, 3, 94, 9330, 330, 5380, 80, 94, 9330, 330, 5380, 80), (1, 4, 0, 0, 0, 0, 0, 10, 1000, 600, 500, 2),
  (2, 1, 0, 0, 0, 0, 0, 5, 500, 100, 500, 4), (2, 2, 5, 500, 100, 500, 4, 5, 500, 100, 500, 4),
  (3, 1, 0, 0, 0, 0, 0, 1, 64, 64, 64, 0), (3, 2, 1, 64, 64, 64, 0, 1, 64, 64, 64, 0);
