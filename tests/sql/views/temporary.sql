-- Site 5: 80 of 91 blocks (stack 9 has one more that is not temporary), 10 elided. Site 2: 2 of 12. Process 2, site 3: 4 of 5.
-- Site 1 of process 2 has elided blocks alone, none of them temporary (which elided ones are is in the totals): it has no row.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 2, 2, 3, 30, 3, 30, 0, 0, NULL, NULL, 0, 0, 0, 0, 10, 9, 9, 9, 10, 10, 0, 0, 3, 0, 0, 0, 3, 30;
-- expect
--|process_id,temporary_blocks,temporary_bytes,share,allocated_blocks,elided_blocks,function,source,line,module,call_site_id
--|1,80,8000,0.879120879120879,91,10,worker,,,/opt/server/lib/libwork.so,5
--|2,4,400,0.8,5,0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
--|1,2,200,0.166666666666667,12,0,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
