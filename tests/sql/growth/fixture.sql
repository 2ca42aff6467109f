-- Snapshots at 0, 10, 20, 30, 40 s. Site 3 holds 100, 200, 300, 400, 500 bytes: slope 10 bytes/s, fit 1.
-- Site 2, stacks 4 and 5 together: 0, 10, 10, 30, 40 (stack 4: 0, 10, 10, 20, 20; stack 5: 0, 0, 0, 10, 20):
--   mean y 18, mean x 20; Sxy = 0·-20 + 10·-10 + 10·0 + 30·10 + 40·20 - … = 1000, Sxx = 1000, Syy = 1080: slope 1, fit 1000²/(1000·1080) = 0.9259.
-- Site 5 rises and falls back (0, 50, 90, 40, 0): not listed. Site 1 stays at 20: not listed. Site 6 jumps once: not listed.
-- Only changes are stored. Process 2 has too few snapshots.
.read code.sql
INSERT INTO snapshots VALUES (1, 1, 0, 'regular'), (2, 1, 10000000000, 'regular'), (3, 1, 20000000000, 'regular'),
  (4, 1, 30000000000, 'regular'), (5, 1, 40000000000, 'end'), (6, 2, 10000000000, 'regular'), (7, 2, 20000000000, 'end');
INSERT INTO snapshot_backtraces VALUES
  (1, 6, 100, 1), (2, 6, 200, 2), (3, 6, 300, 3), (4, 6, 400, 4), (5, 6, 500, 5),
  (2, 4, 10, 1), (4, 4, 20, 2), (4, 5, 10, 1), (5, 5, 20, 2), (5, 4, 20, 2),
  (2, 8, 50, 1), (3, 8, 90, 2), (4, 8, 40, 1), (5, 8, 0, 0),
  (1, 2, 20, 2), (4, 2, 20, 2), (5, 2, 20, 2),
  (5, 11, 1000, 1),
  (6, 6, 1, 1), (7, 6, 100, 2);
