. "$CASES/../fixture.sh"
mtrace-query leaks run.db --format csv --process 1
# expect stdout
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,
#|1,4000,1,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,1,200000000,200000000,once,,,4000,,
#|1,30,3,1.0,,,,/opt/server/lib/libwork.so,6,1,5000000000,5000000000,burst,,,240,,
#|1,20,2,0.5,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,1,1000000000,2000000000,burst,main /opt/server/src/main.c:10,,160,,
