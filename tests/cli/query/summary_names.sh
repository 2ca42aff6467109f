# The figures of summary --json are the rows of the view summary as stock SQLite reads it: the same names, each with its value.
. "$CASES/../fixture.sh"
mtrace-query summary run.db --format json >summary.json
sqlite3 run.db <<'SQL'
CREATE TEMP TABLE said AS SELECT o.value ->> 'process_id' AS process_id, f.key AS name, f.value
  FROM json_each(readfile('summary.json')) AS o, json_each(o.value) AS f WHERE f.key NOT IN ('process_id', 'findings');
CREATE TEMP TABLE view AS SELECT process_id, name, value FROM main.summary;
SELECT count(*) > 50 AND count(DISTINCT process_id) > 1 FROM said;
SELECT 'only in JSON', * FROM (SELECT * FROM said EXCEPT SELECT * FROM view);
SELECT 'only in SQL', * FROM (SELECT * FROM view EXCEPT SELECT * FROM said);
SQL
# expect stdout
#|1
