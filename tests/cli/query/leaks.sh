. "$CASES/../fixture.sh"
mtrace-query leaks run.db
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, growing ones first; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 525 B/min         2  Session::clone  session.c:88  2 stacks
#|                                                          the others are freed in S..  session.c:140
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  cache.c:31
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so
#|   20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                          the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 100 B in 1 block of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern        site  where
#|100 B       1         20 %  once at 5.0 s     3  Cache::reserve  cache.c:31
#|                                                 the others are freed in Cache::reserve  cache.c:31
#|next: mtrace-query leaks run.db --process 2 --site 3    # filter: --function-regex 'Cache::reserve'
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
