. "$CASES/../fixture.sh"
mtrace-query groups run.db
# expect stdout
#|                                                         first
#|                    allocated           leaked      own     to
#|process  allocated     blocks   leaked  blocks     peak   last  stack  where
#|      1    8.8 KiB         90      0 B       0  4.9 KiB  1m38s      8  worker  libwork.so
#|      1    3.9 KiB          1  3.9 KiB       1  3.9 KiB    0 s      6  Cache::reserve  cache.c:31
#|      1     1000 B         10    600 B       6    600 B  1m29s      4  Session::clone  session.c:88
#|      2      500 B          5    100 B       1    500 B  9.0 s      6  Cache::reserve  cache.c:31
#|      1      300 B          1    300 B       1    300 B    0 s      9  worker  libwork.so
#|      1      200 B          2    100 B       1    200 B  2.0 s      5  Session::clone  session.c:88
#|      3       64 B          1     64 B       1     64 B    0 s      2  main  main.c:10
#|      1       40 B          4     20 B       2     30 B  1.5 s      2  main  main.c:10
#|      1       30 B          3     30 B       3     30 B    0 s     11  libwork.so
#|1 more column: --wide
#|next: mtrace-query stack run.db 8
