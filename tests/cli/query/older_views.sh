. "$CASES/../fixture.sh"
sqlite3 run.db "DROP VIEW leaks; CREATE VIEW leaks AS SELECT 1 AS old"
mtrace-query leaks run.db --format csv -n 1
# expect stdout
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,
