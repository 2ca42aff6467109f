# Blocks allocated in a time range and freed outside of it, and the reverse; both ends belong to the range.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query range rows.db --from 20ms --to 60ms
mtrace-query range rows.db --from 85ms --csv
mtrace-query range rows.db --to 50ms --json --size-min 100
mtrace-query range rows.db --from 85ms --to 110ms --site 3
mtrace-query range rows.db --from 20ms --to 60ms --fail-if 'never_freed_bytes > 0' >/dev/null || echo "$?"
mtrace-query range rows.db --from 60ms --to 20ms || echo "$?"
mtrace-query range rows.db || echo "$?"
