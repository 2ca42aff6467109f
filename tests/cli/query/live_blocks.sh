# The view live_blocks in stock sqlite3 needs a time, as a number, a subquery or a join.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for at in 0 5000000 9999999 10000000 50999999 51000000 90000000 200000000; do
    sqlite3 rows.db "SELECT $at, count(*), sum(size_bytes), group_concat(allocation_id) FROM live_blocks WHERE at_ns = $at AND process_id = 1"
    counted=$(sqlite3 rows.db "SELECT count(*) || '|' || sum(size_bytes) FROM allocations WHERE process_id = 1 AND alloc_ns <= $at AND (free_ns IS NULL OR free_ns > $at)")
    [ "$counted" = "$(sqlite3 rows.db "SELECT count(*) || '|' || sum(size_bytes) FROM live_blocks WHERE at_ns = $at AND process_id = 1")" ]
done
echo "peaks, by a join and by a subquery:"
sqlite3 rows.db "SELECT p.process_id, p.peak_bytes, p.peak_blocks, sum(l.size_bytes), count(*)
    FROM processes AS p JOIN live_blocks AS l ON l.at_ns = p.peak_ns AND l.process_id = p.process_id GROUP BY p.process_id
    ORDER BY p.process_id"
sqlite3 rows.db "SELECT sum(size_bytes) FROM live_blocks WHERE process_id = 1 AND at_ns = (SELECT peak_ns FROM processes WHERE process_id = 1)"
mtrace-query sql "SELECT sum(size_bytes) AS live_bytes FROM live_blocks WHERE process_id = 1 AND at_ns = (SELECT peak_ns FROM processes WHERE process_id = 1)" rows.db --csv
sqlite3 rows.db "SELECT count(*) FROM live_blocks"
# expect stdout
#|0|1|100|1
#|5000000|2|300|1,2
#|9999999|2|300|1,2
#|10000000|2|250|2,3
#|50999999|5|1298|2,3,6,7,8
#|51000000|4|1290|2,3,6,7
#|90000000|5|5490|2,3,6,10,12
#|200000000|5|5490|2,3,6,10,12
#|peaks, by a join and by a subquery:
#|1|6490|6|5490|5
#|2|40|2|40|2
#|5490
#|live_bytes
#|5490
#|0
