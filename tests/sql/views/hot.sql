-- Turnover: site 5 9300 / (5050 + 300) = 1.738317757; site 2 1200 / (600 + 200) = 1.5; site 1 40 / 30 = 1.333333.
-- Mean lifetime: site 5 8000 ns / 90 freed = 88; site 2 5 s / 5 freed = 1 s; site 1 0.2 s / 2 = 0.1 s.
-- Site 3 and site 6 of process 1 freed nothing: NULL. Stack 1 has only empty blocks: no turnover.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 1, 1, 1, 0, 1, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 7, 7, 7, 0, 0, 0, 50, 1, 0, 0, 0, 0, 0;
-- expect
--|process_id,allocated_blocks,allocated_bytes,turnover,mean_lifetime_ns,function,source,line,module,call_site_id,allocated_blocks_margin,allocated_bytes_margin
--|1,91,9300,1.73831775700935,88,worker,,,/opt/server/lib/libwork.so,5,,
--|1,12,1200,1.5,1000000000,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,,
--|2,5,500,1.0,10000,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
--|1,4,40,1.33333333333333,100000000,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
--|1,3,30,1.0,,,,,/opt/server/lib/libwork.so,6,,
--|1,1,4000,1.0,,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
--|3,1,64,1.0,,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
--|1,1,0,,50,,,,,,,
