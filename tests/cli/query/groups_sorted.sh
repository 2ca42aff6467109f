. "$CASES/../fixture.sh"
mtrace-query groups run.db --sort-by last_ns --order dsc -n 2 --skip 1 --format csv
# expect stdout
#|process_id,backtrace_id,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,min_size_bytes,max_size_bytes,first_ns,last_ns,interval_ns,own_peak_bytes,own_peak_ns,function,source,line,module,call_site_id
#|1,4,10,1000,4,400,6,600,100,100,1000000000,90000000000,89000000000,600,90000000000,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2
#|1,5,2,200,1,100,1,100,100,100,48000000000,50000000000,2000000000,200,49000000000,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2
