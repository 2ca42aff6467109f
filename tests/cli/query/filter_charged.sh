# Filters by group, tag and phase: by id and name, several values, the root, all tags together, and overlapping phases of two processes.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --csv "$@" -n 0 | awk -F, -v what="$*" 'NR > 1 { printf "%s ", $1 } END { print "| " what }'; }
mtrace-query allocations rows.db --group cache || true
mtrace-query allocations rows.db --phase load || true
sqlite3 rows.db "INSERT INTO allocation_groups VALUES (0, 'untracked'), (1, 'root'), (2, 'request'), (3, 'request'), (4, 'it''s 1');
    INSERT INTO allocation_group_tags VALUES (2, 'tenant', 'acme'), (3, 'tenant', 'other'), (3, 'kind', 'read'), (2, 'kind', 'read');
    INSERT INTO group_rows VALUES (2, 2, NULL), (3, 3, NULL), (7, 1, 2), (8, 2, 1), (9, 4, 4), (14, 2, NULL), (15, 0, NULL);
    INSERT INTO phases (phase_id, process_id, depth, name, start_ns, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes,
        live_start_bytes, live_end_bytes, peak_bytes, leaked_blocks, leaked_bytes, first_allocation_id, last_allocation_id)
    SELECT value ->> 0, value ->> 1, 1, value ->> 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, value ->> 3, value ->> 4 FROM json_each(
        '[[1, 1, \"load\", 2, 6], [2, 1, \"load\", 4, 8], [3, 1, \"idle\", null, null], [4, 2, \"load\", 8, 14], [5, 1, \"load\", 11, 11]]')"
ids --group request
ids --group 3
ids --group root
ids --group 1
ids --group untracked --group "it's 1"
ids --tag tenant=acme
ids --tag tenant --tag kind=read --size-max 100
ids --tag tenant=acme --tag tenant=other
ids --phase load
ids --phase 2
ids --phase idle
ids --phase load --group request
mtrace-query leaks rows.db --group request --csv --process 1 | cut -d, -f1-3
mtrace-query allocations rows.db --tag kind=write || true
# expect stdout
#|2 3 8 14 | --group request
#|3 | --group 3
#|1 4 5 6 7 10 11 12 13 | --group root
#|1 4 5 6 7 10 11 12 13 | --group 1
#|9 15 | --group untracked --group it's 1
#|2 8 14 | --tag tenant=acme
#|3 8 14 | --tag tenant --tag kind=read --size-max 100
#|| --tag tenant=acme --tag tenant=other
#|2 3 4 5 6 7 8 11 13 14 | --phase load
#|4 5 6 7 8 | --phase 2
#|| --phase idle
#|2 3 8 14 | --phase load --group request
#|process_id,leaked_bytes,leaked_blocks
#|1,200,1
#|1,50,1
# expect stderr
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --phase: 'load' matches nothing: the recording has no phases
#|Try 'mtrace-query --help'.
#|mtrace-query: --tag: 'kind=write' is unknown; choose from kind=read, tenant=acme, tenant=other, kind, tenant
#|Try 'mtrace-query --help'.
