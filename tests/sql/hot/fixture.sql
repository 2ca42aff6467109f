-- Turnover: site 5 9300 / (5050 + 300) = 1.738317757; site 2 1200 / (600 + 200) = 1.5; site 1 40 / 30 = 1.333333.
-- Mean lifetime: site 5 8000 ns / (90 freed - 10 culled) = 100; site 2 5 s / 5 freed = 1 s; site 1 0.2 s / 2 = 0.1 s.
-- Site 3 and site 6 of process 1 freed nothing: NULL. Stack 1 has only empty blocks: no turnover.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals SELECT 1, 1, 1, 0, 1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 7, 7, 7, 0, 0, 0, 50, 1, 0, 0, 0, 0, 0;
