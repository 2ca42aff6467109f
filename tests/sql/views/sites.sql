.read code.sql
-- expect
--|call_site_id,function,source,line,module
--|1,main,/opt/server/src/main.c,10,/opt/server/bin/server
--|2,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server
--|3,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server
--|4,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server
--|5,worker,,,/opt/server/lib/libwork.so
--|6,,,,/opt/server/lib/libwork.so
