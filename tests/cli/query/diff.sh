. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query diff rows.db --at 20ms --at 95ms
mtrace-query diff rows.db --to 95ms --from 20ms --size-max 100 --format csv
mtrace-query diff rows.db --at 95ms --at 20ms -n 1
mtrace-query diff run.db rows.db
mtrace-query diff run.db rows.db --measure allocated --by blocks --process 1 --format csv
mtrace-query diff run.db run.db
# Another build: folders and lines have moved, a function is new.
cp run.db built.db
sqlite3 built.db "UPDATE sources SET path = replace(path, '/opt/', '/home/'); UPDATE call_sites SET line = line + 5;
  UPDATE functions SET name = 'Cache::grow' WHERE name = 'Cache::reserve'"
mtrace-query diff run.db built.db
# A function with several call sites stands at the line that changed most; where all of them moved, at none.
sqlite3 rows.db 'UPDATE call_sites SET function_id = 3, source_id = 2 WHERE call_site_id = 3'
sqlite3 rows.db 'SELECT line FROM call_sites WHERE function_id = 3 ORDER BY line'
mtrace-query diff rows.db --at 20ms --at 95ms -n 1 --format csv
mtrace-query diff rows.db --at 95ms --at 20ms -n 1 --format csv
cp rows.db grown.db
sqlite3 grown.db 'UPDATE backtrace_totals SET leaked_bytes = leaked_bytes + 7000, leaked_blocks = leaked_blocks + 1 WHERE backtrace_id = 6'
mtrace-query diff rows.db grown.db --format csv
sqlite3 grown.db 'UPDATE call_sites SET line = line + 5'
mtrace-query diff rows.db grown.db --format csv
