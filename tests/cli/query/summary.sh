. "$CASES/../fixture.sh"
mtrace-query run.db
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|
#|What to look at
#|  info      At the peak, at 1m00s, worker (libwork.so) held 54 % of 9.8 KiB in 29 blocks.
#|            mtrace-query peak run.db --process 1
#|  info      4.0 KiB more in 6 blocks were live when a signal ended the program, the largest part
#|            from Cache::reserve (cache.c:31): 3.9 KiB in 1 block, allocated once.
#|            mtrace-query leaks run.db --process 1
#|  info      700 B in 7 blocks from Session::clone (session.c:88) were live when a signal ended the
#|            program; they came throughout the run, 8 B a second. Other blocks of the same stacks are
#|            freed in Session::close (session.c:140). Whether the program can still reach them is not
#|            known.
#|            mtrace-query leaks-by-stack run.db --site 2 --process 1 --stacks
#|  info      82 % of the allocations have stacks through code without unwind information (as of a
#|            JIT), which were followed by frame pointers.
#|            mtrace-query unwind-quality run.db --process 1
#|
#|allocated   14.2 KiB in 111 blocks; 1 realloc, 0 failures
#|freed       9.3 KiB in 97 blocks; 0 blocks from before it was recorded
#|leaked      4.9 KiB in 14 blocks, of these 300 B suppressed
#|temporary   82 blocks, 74 % of all
#|elided      10 blocks, all of them freed soon: in all totals, without rows; the peak may have been higher by those live at one time (meta: elided.most_live_bytes)
#|peak        9.8 KiB in 40 blocks at 1m00s
#|recording   1,000 events of 2 threads; 7 stacks, 15 % of allocations with a complete one
#|
#|  bytes  blocks  allocated most often
#|9.1 KiB      91  worker  libwork.so
#|1.2 KiB      12  Session::clone  session.c:88
#|   40 B       4  main  main.c:10
#|
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|
#|What to look at
#|  info      At the peak, at 20.0 s, Cache::reserve (cache.c:31) held 100 % of 500 B in 5 blocks.
#|            mtrace-query peak run.db --process 2
#|  info      100 B in 1 block was never freed: from Cache::reserve (cache.c:31).
#|            mtrace-query leaks run.db --process 2
#|
#|allocated   500 B in 5 blocks; 0 reallocs, 0 failures
#|freed       400 B in 4 blocks; 3 blocks from before it was recorded
#|leaked      100 B in 1 block
#|temporary   4 blocks, 80 % of all
#|peak        500 B in 5 blocks at 20.0 s
#|recording   50 events of 1 thread; 1 stack, 100 % of allocations with a complete one
#|
#|bytes  blocks  allocated most often
#|500 B       5  Cache::reserve  cache.c:31
#|
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|
#|What to look at
#|  info      At the peak, at 40.5 s, main (main.c:10) held 100 % of 64 B in 1 block.
#|            mtrace-query peak run.db --process 3
#|
#|allocated   64 B in 1 block; 0 reallocs, 0 failures
#|freed       0 B in 0 blocks; 0 blocks from before it was recorded
#|leaked      0 B in 0 blocks
#|temporary   0 blocks, 0.0 % of all
#|peak        64 B in 1 block at 40.5 s
#|recording   4 events of 1 thread; 1 stack, 100 % of allocations with a complete one
#|
#|bytes  blocks  allocated most often
#| 64 B       1  main  main.c:10
#|
#|no lines in /opt/server/lib/libwork.so: built without -g
#|next: mtrace-query leaks run.db    # or peak, temporary, hot, fragmentation
