# Of many processes totals and a ranking come first, then the screens of a few; --process takes a pid, too.
. "$CASES/../fixture.sh"
cat >workers.sql <<'SQL'
INSERT INTO processes(process_id, parent_process_id, pid, executable, start_ns, end_ns, end_kind, end_value, peak_bytes, peak_blocks, peak_ns)
  SELECT value, 1, iif(value < 6, 900, 906), '/opt/server/bin/worker', 0, 1000000000, 'exit', 0, 100 * value, value, 500000000
  FROM json_each('[4, 5, 6]');
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes,
  leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes,
  own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns,
  chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes)
  SELECT value, 4, value, 100 * value, 0, 0, value, 100 * value, 1, 2, 0, 0, value, 100 * value,
    100 * value, 2, 1, 2, 100, 100, 0, 0, value, value, 0, 0, 0, 0 FROM json_each('[4, 5, 6]');
SQL
make_fixture many.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql" workers.sql
mtrace-query processes many.db
mtrace-query leaks many.db
mtrace-query leaks many.db --function-regex Session -n 1
mtrace-query summary many.db -n 2 | sed -n 1,12p
mtrace-query leaks many.db --process 906 | sed -n 1,2p
mtrace-query leaks many.db --process 4 | sed -n 1,2p
mtrace-query leaks many.db --process 900
