-- As leaks, but by stack: stack 4 leaks 6 of 10 blocks steadily, stack 5 one of two. Stacks 4 and 5 are freed in site 4,
-- stack 4 by 3 blocks to 1. Stack 9 is below setlocale: suppressed, last. Nothing of process 3.
.read code.sql
.read totals.sql
-- More blocks of stack 2 were freed on stacks that are not told apart (0) than anywhere else: no place is shown. Of stack 6 in process 2 as
-- many.
INSERT INTO free_sites VALUES (1, 2, 0, 3, 30), (2, 6, 0, 4, 400);
-- expect
--|process_id,backtrace_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin
--|1,4,600,6,0.6,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,10000000000,90000000000,steady,"Session::close /opt/server/src/session.c:140",,38400,,
--|1,6,4000,1,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,200000000,200000000,once,,,4000,,
--|1,5,100,1,0.5,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,50000000000,50000000000,once,"Session::close /opt/server/src/session.c:140",,100,,
--|2,6,100,1,0.2,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,15000000000,15000000000,once,"Cache::reserve /opt/server/src/cache.c:31",,100,,
--|1,11,30,3,1.0,,,,/opt/server/lib/libwork.so,6,5000000000,5000000000,burst,,,30,,
--|1,2,20,2,0.5,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,1000000000,2000000000,burst,,,20,,
--|1,9,300,1,1.0,worker,,,/opt/server/lib/libwork.so,5,3000000000,3000000000,once,,leak:^setlocale$,300,,
