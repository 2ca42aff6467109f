# Where one process was recorded in full and another by samples, blocks of the former count as one: both threads of process 1 are
# told the same as without samples.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query threads rows.db --process 1 --function-regex . --format csv >before
sqlite3 rows.db 'UPDATE processes SET sample_bytes = 100 WHERE process_id = 2'
mtrace-query threads rows.db --process 1 --function-regex . --format csv | diff before - && cat before
# Nor has what was recorded in full a margin.
mtrace-query tree rows.db --process 1 --measure leaked --size-min 0 2>/dev/null | head -1
mtrace-query flamegraph rows.db --process 1 --size-min 0 2>/dev/null | grep -c '±'
