# For a bounded log, reports that need rows show the blocks that are live at the end, and note how many blocks have no row.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 rows.db "INSERT INTO meta VALUES ('slim', 1), ('aggregate', 1);
    UPDATE backtrace_totals SET elided_blocks = 2 WHERE process_id = 1 AND backtrace_id = 2; DELETE FROM realloc_chains"
mtrace-query holes rows.db --process 1 --format csv | cut -d, -f2 | sort -u
mtrace-query realloc-chains rows.db --process 1 --format csv | wc -l
mtrace-query allocations rows.db --process 1 --format csv >/dev/null
mtrace-query export --to json rows.db --process 1 >/dev/null
mtrace-query export --to speedscope rows.db --process 1 >/dev/null
# expect stdout
#|at
#|end
#|1
# expect stderr
#|mtrace-query: note: 7 blocks that were freed (of these 2 were elided) are in totals, but not in this answer, which is made of rows: the log (--aggregate) has rows only of blocks that are live at the end; so this shows the end, and 'fragmentation' shows free memory at the peak
#|mtrace-query: note: 7 blocks that were freed (of these 2 were elided) are in totals, but not in this answer, which is made of rows: the log (--aggregate) has rows only of blocks that are live at the end
#|mtrace-query: note: 7 blocks that were freed (of these 2 were elided) are in totals, but not in this answer, which is made of rows: the log (--aggregate) has rows only of blocks that are live at the end
#|mtrace-query: note: 7 freed blocks have no row and are missing in json; totals include them
