# The filtered timeline equals what stock sqlite3 computes, also as a picture by call site.
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
# expect stdout
#|process_id,bucket,start_ns,end_ns,live_bytes,live_blocks,peak_bytes,low_bytes,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,live_bytes_margin,peak_bytes_margin,allocated_bytes_margin,freed_bytes_margin,leaked_bytes_margin
#|1,0,0,10000000,300,2,300,0,2,300,0,0,1,200,,,,,
#|1,1,10000000,20000000,200,1,200,200,0,0,1,100,1,200,,,,,
#|1,2,20000000,30000000,200,1,200,200,0,0,0,0,1,200,,,,,
#|1,3,30000000,40000000,200,1,200,200,0,0,0,0,1,200,,,,,
#|1,4,40000000,50000000,200,1,200,200,0,0,0,0,1,200,,,,,
#|1,5,50000000,60000000,1200,2,1200,1200,1,1000,0,0,1,200,,,,,
#|1,6,60000000,70000000,1200,2,1200,1200,0,0,0,0,1,200,,,,,
#|1,7,70000000,80000000,6200,3,6200,6200,1,5000,0,0,2,5200,,,,,
#|1,8,80000000,90000000,6200,3,6200,6200,0,0,0,0,2,5200,,,,,
#|1,9,90000000,100000000,5400,3,5400,5400,1,200,1,1000,3,5400,,,,,
#|live at the end of bucket 3: 200
#|leaked: 5490
#|1,9,90000000,100000000,5490,5,5490,5490,1,200,0,0,5,5490,,,,,
#|start_ns,end_ns,allocated_blocks,allocated_bytes
#|50000000,50078125,2,1008
#|server (process 1, pid 812), 100 ms, exited with status 0
#|temporary blocks: at most 1 in a part of the time, about 0 s
#|         1 |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|           |█████████                                  ██████████                ██████████
#|         0 +---------------------------------------------------------------------------------------
#|            0 s                                                                              100 ms
#|next: mtrace-query live rows.db --at peak
#|1
#|live: 5 areas, Cache::reserve  cache.c:31;main  main.c:10;Session::clone  session.c:88;worker  libwork.so;libwork.so;
#|allocated: 0 areas, Cache::reserve  cache.c:31;main  main.c:10;Session::clone  session.c:88;worker  libwork.so;libwork.so;
#|leaked: 3 areas, Cache::reserve  cache.c:31;Session::clone  session.c:88;worker  libwork.so;
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|allocated.svg
#|default.svg
#|leaked.svg
#|live.svg
#|rows.db
#|run.db
# expect stderr
#|mtrace-query: note: drawn is process 1, which had most memory, of 2; process=ID chooses another
#|mtrace-query: nothing to draw: no block was allocated
#|mtrace-query: --measure 'peak': over time it is live, allocated, freed, leaked or temporary
#|Try 'mtrace-query --help'.
#|mtrace-query: --from must be before to
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if applies to rows, and the picture 'x.svg' has none
#|Try 'mtrace-query --help'.
#|mtrace-query: nothing to draw: no block passes
#|mtrace-query: 'x.svg' names a picture, but leaks prints text; flamegraph, heap-map, timeline, growth, size-histogram and lifetime-histogram draw pictures
#|Try 'mtrace-query --help'.
#|mtrace-query: pictures have the format SVG only
#|Try 'mtrace-query --help'.
