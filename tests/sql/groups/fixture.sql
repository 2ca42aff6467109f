-- One row per process and stack, most bytes first; stack 3 ties with stack 11 in bytes and blocks: the lower id first.
-- interval_ns is last_ns - first_ns. Stack 1 has no call site.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals SELECT 1, 3, 3, 30, 0, 0, 3, 30, 8, 9, 0, 0, 0, 0, 30, 9, 8, 9, 10, 10, 0, 0, 3, 3, 0, 0, 0, 0;
INSERT INTO backtrace_totals SELECT 1, 1, 1, 0, 1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 7, 7, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0;
