# A file is printed with its folder if another file of the table has the same name, otherwise without.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE sources SET path = '/opt/server/lib/session.c' WHERE path LIKE '%/cache.c'"
mtrace-query leaks run.db --process 1
mtrace-query peak run.db --process 1
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 8 B/s             2  Session::clone  src/session.c:88  2 stacks
#|                                                          the others are freed ..  src/session.c:140
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  lib/session.c:31
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so
#|   20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                          the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|process  peak at    bytes  blocks  share  where                             site
#|      1    1m00s  5.2 KiB      29   54 %  worker  libwork.so                   5
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  lib/session.c:31     3
#|      1    1m00s    600 B       6  6.0 %  Session::clone  src/session.c:88     2
#|      1    1m00s     30 B       2  0.3 %  libwork.so                           6
#|      1    1m00s     20 B       2  0.2 %  main  main.c:10                      1
#|next: mtrace-query groups run.db --site 5
