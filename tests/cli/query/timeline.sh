. "$CASES/../fixture.sh"
sqlite3 run.db "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49)
  INSERT INTO timeline SELECT 1, i, i * 2000000000, (i + 1) * 2000000000, i * 200, i, iif(i = 30, 10000, i * 204), i * 190, 1, 1, 1, 1, i, i * 2, NULL, NULL, NULL, NULL, NULL FROM n"
mtrace-query timeline run.db --process 1
mtrace-query timeline run.db --process 2
LC_ALL=C COLUMNS=50 mtrace-query timeline run.db --process 1
mtrace-query timeline run.db -n 2
mtrace-query timeline run.db --process 1 --sort-by live_bytes -n 1 --format csv
