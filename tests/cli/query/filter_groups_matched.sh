. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query groups rows.db --size-min 100 --sort-by all.leaked_count --format csv
mtrace-query groups rows.db --size-min 100 --sort-by only_matched.min_timestamp -n 1
# expect stdout
#|process_id,backtrace_id,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,min_size_bytes,max_size_bytes,first_ns,last_ns,interval_ns,own_peak_bytes,own_peak_ns,function,source,line,module,call_site_id,all_allocated_blocks,all_allocated_bytes,all_leaked_blocks,all_leaked_bytes,all_first_ns,all_last_ns,all_interval_ns
#|1,4,3,500,1,100,2,400,100,200,0,90000000,90000000,400,90000000,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,4,500,2,400,0,90000000,90000000
#|1,6,1,5000,0,0,1,5000,5000,5000,70000000,70000000,0,5000,70000000,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,2,5050,2,5050,10000000,70000000,60000000
#|1,2,1,1000,1,1000,0,0,1000,1000,50000000,50000000,0,1000,50000000,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,2,1008,0,0,50000000,50000000,0
#|                    allocated          leaked    own    first
#|process  allocated     blocks  leaked  blocks   peak  to last  stack  where
#|      1      500 B          3   400 B       2  400 B  90.0 ms      4  Session::clone  session.c:88
#|1 more column: --wide
#|more rows: -n 0
#|next: mtrace-query stack rows.db 4
