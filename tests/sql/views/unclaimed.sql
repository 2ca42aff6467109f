-- Of the last walks, largest first.
.read code.sql
.read objects.sql
INSERT INTO unclaimed_totals VALUES (1, 3, 9, 999), (2, 3, 1, 20), (2, 8, 1, 50);
-- expect
--|process_id,bytes,blocks,share_of_live,function,source,line,module,call_site_id,walk_id,backtrace_id
--|1,50,1,0.25,worker,,,/opt/server/lib/libwork.so,5,2,8
--|1,20,1,0.1,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,2,3
