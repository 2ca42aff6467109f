-- Deterministic work of many kinds for the sqlite3 of each processor.
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO t SELECT i, 'row ' || (i * 7919 % 2003), i / 3.0 FROM n;
CREATE INDEX tb ON t(b);
SELECT count(*), sum(c), max(b) FROM t;
SELECT b, group_concat(a) FROM t GROUP BY b ORDER BY c DESC LIMIT 5;
UPDATE t SET b = upper(b) WHERE a % 3 = 0;
SELECT substr(b, 1, 5), count(*) FROM t GROUP BY 1 ORDER BY 2;
DELETE FROM t WHERE a % 2;
SELECT count(*) FROM t x JOIN t y ON x.b = y.b;
