. "$CASES/../fixture.sh"
mtrace-query leaks run.db --format json -n 2
# expect stdout
#|[
#| {"process_id":1,"leaked_bytes":700,"leaked_blocks":7,"share_of_site":0.583333333333333,"function":"Session::clone(int) const","source":"/opt/server/src/session.c","line":88,"module":"/opt/server/bin/server","call_site_id":2,"stacks":2,"leaked_first_ns":10000000000,"leaked_last_ns":90000000000,"pattern":"steady","usually_freed_in":"Session::close /opt/server/src/session.c:140","suppressed_by":null,"weight":44800,"leaked_bytes_margin":null,"leaked_blocks_margin":null},
#| {"process_id":1,"leaked_bytes":4000,"leaked_blocks":1,"share_of_site":1.0,"function":"Cache::reserve","source":"/opt/server/src/cache.c","line":31,"module":"/opt/server/bin/server","call_site_id":3,"stacks":1,"leaked_first_ns":200000000,"leaked_last_ns":200000000,"pattern":"once","usually_freed_in":null,"suppressed_by":null,"weight":4000,"leaked_bytes_margin":null,"leaked_blocks_margin":null}
#|]
