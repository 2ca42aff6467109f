. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db -n 3
mtrace-query allocations rows.db --sort-by size -n 3
mtrace-query allocations rows.db --sort-by address --order dsc -n 2 --format csv
# expect stdout
#|                allocated                                    ended
#|process  block         at  lifetime   size  address  kind    by     where
#|      1      1        0 s   10.0 ms  100 B  0x10010  malloc  free   Session::clone  session.c:88
#|      1      2     5.0 ms         -  200 B  0x10080  malloc  -      Session::clone  session.c:88
#|      1      3    10.0 ms         -   50 B  0x10200  calloc  -      Cache::reserve  cache.c:31
#|2 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query stack rows.db 4
#|                allocated                               ended
#|process  block         at  lifetime     size   address  by     stack  where
#|      1     10    70.0 ms         -  4.9 KiB  0x7f0010  -          6  Cache::reserve  cache.c:31
#|      1      7    50.0 ms   40.0 ms   1000 B   0x11000  free       2  main  main.c:10
#|      1      2     5.0 ms         -    200 B   0x10080  -          4  Session::clone  session.c:88
#|2 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query stack rows.db 6
#|allocation_id,process_id,thread_id,kind,address,size_bytes,usable_bytes,alignment,alloc_ns,free_ns,lifetime_ns,free_thread_id,backtrace_id,free_backtrace_id,ended_by,is_leaked,intervening_allocations,chain_id,chain_position,realloc_from_id,heap_id,marker_id,group_id,free_group_id,function,source,line,module,call_site_id
#|10,1,1,malloc,8323088,5000,5096,,70000000,,,,6,,,1,,,,,,1,1,,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
#|9,1,2,malloc,196736,16,24,,60000000,80000000,20000000,2,11,8,free,0,3,,,,2,1,1,1,,,,/opt/server/lib/libwork.so,6
