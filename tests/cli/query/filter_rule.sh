# One of several values of the same parameter must match. Different parameters must all match.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --csv "$@" -n 0 | awk -F, -v what="$*" 'NR > 1 { printf "%s ", $1 } END { print "| " what }'; }
ids
ids lifetime=all lifetime=only_leaked
ids lifetime=only_leaked
ids lifetime=only_temporary
ids lifetime=only_leaked lifetime=only_temporary
ids lifetime=only_whole_group_leaked
ids lifetime=only_whole_group_leaked lifetime=only_temporary
ids lifetime=only_leaked size_min=100
sqlite3 rows.db "DELETE FROM markers; WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 99)
    INSERT INTO markers(marker_id, process_id, at_ns, name) SELECT i, 1, i * 1000000, iif(i % 20 < 10, 'load', 'work') FROM n"
ids marker=load
ids marker=work
ids marker=50
# expect stdout
#|1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | 
#|1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | lifetime=all lifetime=only_leaked
#|2 3 6 10 12 14 15 | lifetime=only_leaked
#|1 4 5 7 8 9 11 13 | lifetime=only_temporary
#|1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 | lifetime=only_leaked lifetime=only_temporary
#|3 4 5 6 10 15 | lifetime=only_whole_group_leaked
#|1 3 4 5 6 7 8 9 10 11 13 15 | lifetime=only_whole_group_leaked lifetime=only_temporary
#|2 10 12 | lifetime=only_leaked size_min=100
#|2 4 6 9 11 | marker=load
#|3 5 7 8 10 12 | marker=work
#|7 8 | marker=50
