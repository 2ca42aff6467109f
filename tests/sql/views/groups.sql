-- One row per process and stack, most bytes first; stack 3 ties with stack 11 in bytes and blocks: the lower id first.
-- interval_ns is last_ns - first_ns. Stack 1 has no call site.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, 3, 3, 30, 0, 0, 3, 30, 8, 9, 0, 0, 0, 0, 30, 9, 8, 9, 10, 10, 0, 0, 3, 3, 0, 0, 0, 0;
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, 1, 1, 0, 1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 7, 7, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0;
-- expect
--|process_id,backtrace_id,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,min_size_bytes,max_size_bytes,first_ns,last_ns,interval_ns,own_peak_bytes,own_peak_ns,function,source,line,module,call_site_id
--|1,8,90,9000,90,9000,0,0,100,100,1000000000,99000000000,98000000000,5050,60000000000,worker,,,/opt/server/lib/libwork.so,5
--|1,6,1,4000,0,0,1,4000,4000,4000,200000000,200000000,0,4000,200000000,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
--|1,4,10,1000,4,400,6,600,100,100,1000000000,90000000000,89000000000,600,90000000000,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|2,6,5,500,4,400,1,100,100,100,11000000000,20000000000,9000000000,500,20000000000,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
--|1,9,1,300,0,0,1,300,300,300,3000000000,3000000000,0,300,3000000000,worker,,,/opt/server/lib/libwork.so,5
--|1,5,2,200,1,100,1,100,100,100,48000000000,50000000000,2000000000,200,49000000000,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|3,2,1,64,0,0,1,64,64,64,40500000000,40500000000,0,64,40500000000,main,/opt/server/src/main.c,10,/opt/server/bin/server,1
--|1,2,4,40,2,20,2,20,10,10,500000000,2000000000,1500000000,30,2000000000,main,/opt/server/src/main.c,10,/opt/server/bin/server,1
--|1,3,3,30,0,0,3,30,10,10,8,9,1,30,9,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|1,11,3,30,0,0,3,30,10,10,5000000000,5000000000,0,30,5000000000,,,,/opt/server/lib/libwork.so,6
--|1,1,1,0,1,0,0,0,0,0,7,7,0,0,7,,,,,
