-- Process 1's peak of 10000 bytes at 60 s: site 5 has 5050 + 300 (53.5 %), site 3 4000, site 2 500 + 100, site 6 30, site 1 20.
-- Process 2's is 500 bytes at 20 s, all of site 3; process 3's 64 bytes at 40.5 s, all of site 1.
.read code.sql
.read totals.sql
-- expect
--|process_id,peak_ns,bytes,blocks,share,function,source,line,module,call_site_id,bytes_margin,blocks_margin
--|1,60000000000,5350,29,0.535,worker,,,/opt/server/lib/libwork.so,5,,
--|1,60000000000,4000,1,0.4,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
--|1,60000000000,600,6,0.06,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,,
--|2,20000000000,500,5,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
--|3,40500000000,64,1,1.0,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
--|1,60000000000,30,2,0.003,,,,/opt/server/lib/libwork.so,6,,
--|1,60000000000,20,2,0.002,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
