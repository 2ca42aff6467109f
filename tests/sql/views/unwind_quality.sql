-- Process 1 has 111 blocks: 91 below worker are guessed (81.98 %), 17 complete (15.3 %), all of them ending in libc's _start;
-- stack 11 lost its caller: its last frame is in libwork.so (3 of 111). The synthetic root itself, when it allocates, is in no file.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes) SELECT 2, 10, 5, 50, 5, 50, 0, 0, NULL, NULL, 0, 0, 0, 0, 50, 9, 9, 9, 10, 10, 0, 0, 5, 0, 0, 0, 0, 0;
-- expect
--|process_id,status,module,stacks,allocations,share
--|1,guessed,/usr/lib/libc.so.6,2,91,0.81981981981982
--|1,complete,/usr/lib/libc.so.6,4,17,0.153153153153153
--|1,truncated,/opt/server/lib/libwork.so,1,3,0.027027027027027
--|2,complete,/usr/lib/libc.so.6,1,5,0.5
--|2,truncated,,1,5,0.5
--|3,complete,/usr/lib/libc.so.6,1,1,1.0
