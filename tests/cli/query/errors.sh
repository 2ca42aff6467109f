# Double and invalid frees, with three stacks each.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query errors rows.db
sqlite3 rows.db "INSERT INTO unmatched_frees VALUES (1, 1, 2, 45000000, 8, 'free', 0x30010), (2, 1, 1, 95000000, 7, 'free', 0x10084), (3, 1, 1, 96000000, NULL, 'realloc', 0x999)"
mtrace-query errors rows.db
mtrace-query errors rows.db --csv
mtrace-query errors rows.db --json --fail-if "kind = 'double_free'" || echo "$?"
mtrace-query errors rows.db --site 5 | sed -n 1,2p
sqlite3 rows.db "INSERT INTO meta VALUES ('aggregate', 1), ('slim', 1); DELETE FROM packed_allocation_rows WHERE backtrace_id = 8"
mtrace-query errors rows.db --csv | cut -d, -f2-6
sqlite3 rows.db "UPDATE processes SET sample_bytes = 4096"
mtrace-query errors rows.db || echo "$?"
