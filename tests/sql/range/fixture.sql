-- Site 2 has two stacks: 100 + 20 bytes freed after the range, 50 never, 300 freed in it: 170 - 300 = -130. Site 3 of process 1 released
-- 40 alone. In process 2, what has no call site still counts.
.read code.sql
INSERT INTO range_totals VALUES
  (1, 4, 'freed_after', 3, 100), (1, 5, 'freed_after', 1, 20), (1, 4, 'never_freed', 2, 50), (1, 5, 'allocated_before', 4, 300),
  (1, 6, 'allocated_before', 1, 40),
  (2, 1, 'never_freed', 1, 8);
