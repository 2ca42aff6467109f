. "$CASES/../fixture.sh"
mtrace-query run.db
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|allocated   14.2 KiB in 111 blocks; 1 realloc, 0 failures
#|freed       9.3 KiB in 97 blocks; 0 blocks from before it was recorded
#|leaked      4.9 KiB in 14 blocks, of these 300 B suppressed
#|temporary   82 blocks, 74 % of all
#|elided      10 blocks, all of them freed soon: in all totals, without rows; the peak may have been higher by those live at one time (meta: elided.most_live_bytes)
#|peak        9.8 KiB in 40 blocks at 1m00s
#|recording   1,000 events of 2 threads, 0 dropped; 7 stacks, 15 % of allocations with a complete one
#|
#|  bytes  blocks  leaked, growing ones first
#|  700 B       7  Session::clone  session.c:88
#|3.9 KiB       1  Cache::reserve  cache.c:31
#|   30 B       3  libwork.so
#|   20 B       2  main  main.c:10
#|
#|  bytes  blocks  live at the peak
#|5.2 KiB      29  worker  libwork.so
#|3.9 KiB       1  Cache::reserve  cache.c:31
#|  600 B       6  Session::clone  session.c:88
#|   30 B       2  libwork.so
#|   20 B       2  main  main.c:10
#|
#|  bytes  blocks  temporary
#|7.8 KiB      80  worker  libwork.so
#|  200 B       2  Session::clone  session.c:88
#|
#|  bytes  blocks  allocated most often
#|9.1 KiB      91  worker  libwork.so
#|1.2 KiB      12  Session::clone  session.c:88
#|   40 B       4  main  main.c:10
#|   30 B       3  libwork.so
#|3.9 KiB       1  Cache::reserve  cache.c:31
#|
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|allocated   500 B in 5 blocks; 0 reallocs, 0 failures
#|freed       400 B in 4 blocks; 3 blocks from before it was recorded
#|leaked      100 B in 1 block, of these 0 B suppressed
#|temporary   4 blocks, 80 % of all
#|peak        500 B in 5 blocks at 20.0 s
#|recording   50 events of 1 thread, 0 dropped; 1 stack, 100 % of allocations with a complete one
#|
#|bytes  blocks  leaked, growing ones first
#|100 B       1  Cache::reserve  cache.c:31
#|
#|bytes  blocks  live at the peak
#|500 B       5  Cache::reserve  cache.c:31
#|
#|bytes  blocks  temporary
#|400 B       4  Cache::reserve  cache.c:31
#|
#|bytes  blocks  allocated most often
#|500 B       5  Cache::reserve  cache.c:31
#|
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|allocated   64 B in 1 block; 0 reallocs, 0 failures
#|freed       0 B in 0 blocks; 0 blocks from before it was recorded
#|leaked      0 B in 0 blocks, of these 0 B suppressed
#|temporary   0 blocks, 0.0 % of all
#|peak        64 B in 1 block at 40.5 s
#|recording   4 events of 1 thread, 0 dropped; 1 stack, 100 % of allocations with a complete one
#|
#|bytes  blocks  live at the peak
#| 64 B       1  main  main.c:10
#|
#|bytes  blocks  allocated most often
#| 64 B       1  main  main.c:10
#|
#|no lines in /opt/server/lib/libwork.so: built without -g
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
