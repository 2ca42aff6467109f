# A report made of rows notes how many elided blocks it lacks. Reports made of totals need no note.
. "$CASES/../fixture.sh"
mtrace-query allocations --format csv run.db | sed -n 1,1p
mtrace-query groups --size-min 1 --process 1 -n 1 --format csv run.db | sed -n 1,1p
mtrace-query allocations --process 2 --format csv run.db | sed -n 1,1p
mtrace-query temporary -n 1 --format csv run.db
# expect stdout
#|allocation_id,process_id,thread_id,kind,address,size_bytes,usable_bytes,alignment,alloc_ns,free_ns,lifetime_ns,free_thread_id,backtrace_id,free_backtrace_id,ended_by,is_leaked,intervening_allocations,chain_id,chain_position,realloc_from_id,heap_id,marker_id,group_id,free_group_id,function,source,line,module,call_site_id
#|process_id,backtrace_id,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,min_size_bytes,max_size_bytes,first_ns,last_ns,interval_ns,own_peak_bytes,own_peak_ns,function,source,line,module,call_site_id,all_allocated_blocks,all_allocated_bytes,all_leaked_blocks,all_leaked_bytes,all_first_ns,all_last_ns,all_interval_ns
#|allocation_id,process_id,thread_id,kind,address,size_bytes,usable_bytes,alignment,alloc_ns,free_ns,lifetime_ns,free_thread_id,backtrace_id,free_backtrace_id,ended_by,is_leaked,intervening_allocations,chain_id,chain_position,realloc_from_id,heap_id,marker_id,group_id,free_group_id,function,source,line,module,call_site_id
#|process_id,temporary_blocks,temporary_bytes,share,allocated_blocks,elided_blocks,function,source,line,module,call_site_id
#|1,80,8000,0.879120879120879,91,10,worker,,,/opt/server/lib/libwork.so,5
# expect stderr
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
