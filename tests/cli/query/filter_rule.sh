# Values of one parameter: one must hold, whatever they are about. Different parameters: all must.
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
