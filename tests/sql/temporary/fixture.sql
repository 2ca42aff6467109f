-- Site 5: 80 of 91 blocks (stack 9 has one more that is not temporary), 10 culled. Site 2: 2 of 12. Process 2, site 3: 4 of 5.
-- Site 1 of process 2 has culled blocks alone and still has a row.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals SELECT 2, 2, 3, 30, 3, 30, 0, 0, NULL, NULL, 0, 0, 0, 0, 10, 9, 9, 9, 10, 10, 0, 0, 3, 0, 0, 0, 3, 30;
