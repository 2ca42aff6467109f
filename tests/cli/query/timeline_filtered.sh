# The timeline of what passes a filter, beside stock sqlite3; as a picture by call site.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 rows.db "DELETE FROM timeline; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
    INSERT INTO timeline SELECT 1, i, i * 10000000, (i + 1) * 10000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL FROM n"
mtrace-query timeline rows.db --process 1 --size-min 100 --csv
sqlite3 rows.db "SELECT 'live at the end of bucket 3: ' || sum(size_bytes) FROM live_blocks WHERE at_ns = 39999999 AND process_id = 1 AND size_bytes >= 100"
sqlite3 rows.db "SELECT 'leaked: ' || sum(size_bytes) FROM allocations WHERE process_id = 1 AND is_leaked"
mtrace-query timeline rows.db --process 1 --measure leaked --csv | tail -1
mtrace-query timeline rows.db --process 1 --from 40% --to 60% --measure allocated --csv --sort-by allocated_bytes -n 1 | cut -d, -f3,4,9,10
mtrace-query timeline rows.db --process 1 --measure temporary --by blocks
mtrace-query timeline rows.db --process 1 --function-regex Cache --show-sql | grep -c allocation_rows
for measure in live allocated leaked; do
    mtrace-query timeline rows.db --process 1 --measure $measure -o $measure.svg
    echo "$measure: $(grep -c '<polygon' $measure.svg || true) areas, $(grep -o 'height="11"[^>]*/><text[^>]*>[^<]*' $measure.svg | sed 's/.*>//' | tr '\n' ';')"
done
mtrace-query timeline rows.db -o default.svg
mtrace-query size-histogram rows.db --size-min 1MiB -o sizes.svg || true
complain mtrace-query timeline rows.db --measure peak
complain mtrace-query timeline rows.db --from 60% --to 40%
complain mtrace-query timeline rows.db -o x.svg --fail-if 'live_bytes > 0'
complain mtrace-query timeline rows.db -o x.svg --process 1 --size-min 1MiB
complain mtrace-query leaks rows.db -o x.svg
complain mtrace-query timeline rows.db -o x.svg --json
ls
