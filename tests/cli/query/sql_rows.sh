# A statement of one's own that reads single blocks, by whatever view, is told which of them have no row, or refused where none has; one that reads totals is not.
. "$CASES/../fixture.sh"
ask() {
    echo "$2" >&2
    mtrace-query sql "$2" "$1" >/dev/null || echo "exit status $?" >&2
}
make_fixture whole.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
cp whole.db bounded.db
sqlite3 bounded.db "INSERT INTO meta VALUES ('slim', 1), ('aggregate', 1);
    UPDATE backtrace_totals SET elided_blocks = 2 WHERE process_id = 1 AND backtrace_id = 2"
cp whole.db slim.db
sqlite3 slim.db "INSERT INTO meta VALUES ('slim', 1)"
cp slim.db early.db
sqlite3 early.db "INSERT INTO meta VALUES ('early', 1)"
for statement in "SELECT size_bytes FROM allocations" "SELECT count(*) FROM allocations" "SELECT 1 WHERE EXISTS (SELECT 1 FROM live_blocks WHERE at_ns = 5)" \
    "WITH a AS (SELECT * FROM realloc_chains) SELECT count(*) FROM a" "SELECT * FROM pool_blocks" "SELECT * FROM leaks" "SELECT allocated_blocks FROM backtrace_totals"; do
    ask bounded.db "$statement"
done
for database in whole slim early run; do
    ask $database.db "SELECT count(*) FROM allocations"
    ask $database.db "SELECT count(*) FROM backtrace_totals"
done
# expect stderr
#|SELECT size_bytes FROM allocations
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT count(*) FROM allocations
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT 1 WHERE EXISTS (SELECT 1 FROM live_blocks WHERE at_ns = 5)
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|WITH a AS (SELECT * FROM realloc_chains) SELECT count(*) FROM a
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT * FROM pool_blocks
#|mtrace-query: note: 8 blocks that were freed (of these 2 were elided) are in totals, but not in tables of single blocks: the log (--aggregate) has rows only of blocks that are live at the end
#|SELECT * FROM leaks
#|SELECT allocated_blocks FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|SELECT count(*) FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|mtrace-query: 'slim.db' has totals only, and no allocations
#|exit status 1
#|SELECT count(*) FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|mtrace-query: 'early.db' has totals only, and no allocations
#|exit status 1
#|SELECT count(*) FROM backtrace_totals
#|SELECT count(*) FROM allocations
#|mtrace-query: note: 10 blocks were elided: totals include them, but tables of single blocks do not
#|SELECT count(*) FROM backtrace_totals
