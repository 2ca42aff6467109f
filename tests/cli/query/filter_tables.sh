# Groups, tags, phases, threads and flows of the blocks that pass: those of a moved block, too; all threads and phases stay.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 rows.db "INSERT INTO allocation_groups VALUES (0, 'untracked'), (1, 'root'), (2, 'request'), (3, 'request'), (4, 'it''s 1');
    INSERT INTO allocation_group_tags VALUES (2, 'tenant', 'acme'), (3, 'tenant', 'other'), (3, 'kind', 'read'), (2, 'kind', 'read');
    INSERT INTO group_rows VALUES (2, 2, NULL), (3, 3, NULL), (7, 1, 2), (8, 2, 1), (9, 4, 4), (14, 2, NULL), (15, 0, NULL);
    INSERT INTO group_moves VALUES (3, 1, 25000000, 2, 3);
    INSERT INTO phases (phase_id, process_id, depth, name, start_ns, end_ns, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes,
        live_start_bytes, live_end_bytes, peak_bytes, leaked_blocks, leaked_bytes, first_allocation_id, last_allocation_id)
    SELECT value ->> 0, value ->> 1, 1, value ->> 2, value ->> 5, value ->> 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, value ->> 3, value ->> 4 FROM json_each(
        '[[1, 1, \"load\", 2, 6, 4000000, 45000000], [2, 1, \"load\", 4, 8, 15000000, 55000000], [3, 1, \"idle\", null, null, 56000000, 58000000],
          [4, 2, \"load\", 13, 14, 100000000, 115000000], [5, 1, \"load\", 11, 12, 75000000, null]]')"
ask() { echo "$*"; mtrace-query "$@" rows.db --csv --wide -n 0; }
ask by-group --size-min 0
ask by-group --tag kind=read
ask by-tag --lifetime only_leaked
ask phases --group request
ask phases --process 1 --size-max 100
ask threads --group request
ask flows --group root
ask flows --group root --fail-if "blocks > 1" || echo "$?"
mtrace-query by-group --size-min 0 rows.db
mtrace-query by-group --group 1 rows.db
mtrace-query by-tag --size-min 0 rows.db
mtrace-query by-group --group 3 --show-sql rows.db
