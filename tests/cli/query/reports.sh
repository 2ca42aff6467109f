# Reports that no other case shows: first of the common fixture, then of fixtures of their own.
. "$CASES/../fixture.sh"
for report in leaks-by-stack lifetime-histogram threads; do
    echo "-- $report"
    mtrace-query "$report" run.db
done
for view in flows reallocs by_function growth size_histogram; do
    cat "$source"/importer/schema/*.sql | sqlite3 -bail "$view.db"
    "$source/tests/sql/load_views" sqlite3 "$source" "$view.db"
    (cd "$source/tests/sql" && cat "views/$view.sql" made_tables.sql) >facts.sql
    (cd "$source/tests/sql" && sqlite3 -bail "$OLDPWD/$view.db" ".read $OLDPWD/facts.sql")
    report=$(echo "$view" | tr _ -)
    echo "-- $report"
    mtrace-query "$report" "$view.db"
done
# expect stdout
#|-- leaks-by-stack
#|process   leaked  leaked blocks  never freed  pattern  stack  where                         site
#|      1    600 B              6         60 %  steady       4  Session::clone  session.c:88     2
#|      1  3.9 KiB              1        100 %  once         6  Cache::reserve  cache.c:31       3
#|      1    100 B              1         50 %  once         5  Session::clone  session.c:88     2
#|      2    100 B              1         20 %  once         6  Cache::reserve  cache.c:31       3
#|      1     30 B              3        100 %  burst       11  libwork.so                       6
#|      1     20 B              2         50 %  burst        2  main  main.c:10                  1
#|      1    300 B              1        100 %  once         9  worker  libwork.so               5
#|next: mtrace-query stack run.db 4
#|-- lifetime-histogram
#|process  from  to  blocks    bytes  leaked
#|      1     -   -      14  4.9 KiB       1
#|      2     -   -       1    100 B       1
#|      3     -   -       1     64 B       1
#|-- threads
#|                                              allocated              freed         leaked
#|thread  process  tid  name     start     end     blocks  allocated  blocks  freed  blocks  leaked
#|     1        1  812  server     0 s   1m40s          -          -       -      -       -       -
#|     2        1  820  pool     1.0 s   1m30s          -          -       -      -       -       -
#|     3        2  813  server  10.0 s  30.0 s          -          -       -      -       -       -
#|     4        3  814  sh      40.0 s  41.0 s          -          -       -      -       -       -
#|3 more columns: --wide
#|-- flows
#|process  blocks     bytes  thread  name    freed by thread  its name
#|      2      40   3.9 KiB       3  server                0  others
#|      1       9     700 B       2  pool                  1  server
#|      1       9     700 B       2  pool                  9  -
#|      1       7     700 B       1  server                2  pool
#|      1     500  48.8 KiB       1  server                1  server
#|      2       4     400 B       3  server                3  server
#|-- reallocs
#|                                   longest  first   last
#|process  chains  reallocs  copied    chain   size   size  where                         site
#|      1       2         5   100 B        4   15 B  100 B  Session::clone  session.c:88     2
#|      1       1         1   100 B        2  100 B  200 B  Cache::reserve  cache.c:31       3
#|      2       1         1     0 B        2    8 B   16 B  -                                -
#|next: mtrace-query groups reallocs.db --site 2
#|-- by-function
#|               own     own    own      total    total    total
#|process  allocated  leaked   peak  allocated   leaked     peak  function
#|      1    1.2 KiB   700 B  600 B    1.2 KiB    700 B    600 B  Session::clone
#|      1       40 B    20 B   20 B    5.1 KiB  4.6 KiB  4.5 KiB  main
#|      1        0 B     0 B    0 B   14.2 KiB  4.9 KiB  9.7 KiB  _start
#|      2        0 B     0 B    0 B      500 B    100 B    500 B  _start
#|      2        0 B     0 B    0 B      500 B    100 B    500 B  main
#|-- growth
#|process   growth    rate  pattern     since   from       to  where                         site
#|      1  6.1 KiB  81 B/s  steady     12.5 s  100 B  6.2 KiB  Cache::reserve  cache.c:31       3
#|      4  3.8 KiB  97 B/s  steady      5.0 s  100 B  3.9 KiB  Cache::reserve  cache.c:31       3
#|      9    905 B  14 B/s  steady      5.0 s   25 B    930 B  Cache::reserve  cache.c:31       3
#|      8    580 B   5 B/s  steady     24.0 s   60 B    640 B  Cache::reserve  cache.c:31       3
#|      1    230 B   6 B/s  late        1m07s    0 B    230 B  Session::clone  session.c:88     2
#|      1   1000 B       -  burst      46.9 s    0 B   1000 B  libwork.so                       6
#|      1    475 B  15 B/s  plateau     4.7 s   25 B    500 B  worker  libwork.so               5
#|      4    400 B       -  plateau     2.0 s  100 B    500 B  worker  libwork.so               5
#|      1     60 B       -  saw tooth   1m35s   30 B     90 B  main  main.c:10                  1
#|next: mtrace-query groups growth.db --site 3
#|-- size-histogram
#|process  from    to  blocks  bytes  leaked blocks  leaked  temporary blocks  rounding
#|      1   0 B   0 B       2    0 B              1     0 B                 1      48 B
#|      1  17 B  32 B       3   90 B              1    32 B                 0       6 B
#|      2   1 B  16 B       5   50 B              0     0 B                 4      20 B
# expect stderr
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
#|mtrace-query: note: 7 of 1,061 events (0.7 %) were dropped: allocations and frees are missing, so numbers from the first drop on are inexact (reasons: meta, events.dropped.*)
