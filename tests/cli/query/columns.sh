# Headings are words without units. Narrow tables omit constants, then ids, but never the function, its line or the first bytes. Headings
# are sort keys; csv and json use the names of SQL.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1"
COLUMNS=200 mtrace-query peak run.db
COLUMNS=50 mtrace-query peak run.db
COLUMNS=200 mtrace-query groups run.db -n 2
COLUMNS=60 mtrace-query groups run.db -n 2
COLUMNS=40 mtrace-query groups run.db -n 2
mtrace-query groups run.db -n 1 --sort-by "own peak" --order asc
mtrace-query groups run.db -n 1 --csv | cut -c1-70
mtrace-query sql run.db "SELECT 2048 AS peak_bytes, 5 AS at_ns"
# expect stdout
#|peak at    bytes  blocks  share  where                         site
#|  1m00s  5.2 KiB      29   54 %  worker  libwork.so               5
#|  1m00s  3.9 KiB       1   40 %  Cache::reserve  cache.c:31       3
#|  1m00s    600 B       6  6.0 %  Session::clone  session.c:88     2
#|  1m00s     30 B       2  0.3 %  libwork.so                       6
#|  1m00s     20 B       2  0.2 %  main  main.c:10                  1
#|next: mtrace-query groups run.db --site 5
#|  bytes  blocks  where
#|5.2 KiB      29  worker  libwork.so
#|3.9 KiB       1  Cache::reserve  cache.c:31
#|  600 B       6  Session::clone  session.c:88
#|   30 B       2  libwork.so
#|   20 B       2  main  main.c:10
#|3 more columns: --wide
#|next: mtrace-query groups run.db --site 5
#|allocated  allocated blocks   leaked  leaked blocks  own peak  first to last  stack  where                       site
#|  8.8 KiB                90      0 B              0   4.9 KiB          1m38s      8  worker  libwork.so             5
#|  3.9 KiB                 1  3.9 KiB              1   3.9 KiB            0 s      6  Cache::reserve  cache.c:31     3
#|more rows: -n 0
#|next: mtrace-query stack run.db 8
#|allocated   leaked  own peak  where
#|  8.8 KiB      0 B   4.9 KiB  worker  libwork.so
#|  3.9 KiB  3.9 KiB   3.9 KiB  Cache::reserve  cache.c:31
#|5 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query stack run.db 8
#|allocated  where
#|  8.8 KiB  worker  libwork.so
#|  3.9 KiB  Cache::reserve  cache.c:31
#|7 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query stack run.db 8
#|                                            first
#|           allocated          leaked   own     to
#|allocated     blocks  leaked  blocks  peak   last  stack  where            site
#|     40 B          4    20 B       2  30 B  1.5 s      2  main  main.c:10     1
#|more rows: -n 0
#|next: mtrace-query stack run.db 2
#|process_id,backtrace_id,allocated_blocks,allocated_bytes,freed_blocks,
#|1,8,90,9000,90,9000,0,0,100,100,1000000000,99000000000,98000000000,505
#|peak_bytes  at_ns
#|   2.0 KiB   5 ns
