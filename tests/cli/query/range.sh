# Filters select blocks allocated inside a time range and freed outside of it, and the reverse. Both limits are part of the range.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query range rows.db --from 20ms --to 60ms
mtrace-query range rows.db --from 85ms --csv
mtrace-query range rows.db --to 50ms --json --size-min 100
mtrace-query range rows.db --from 85ms --to 110ms --site 3
mtrace-query range rows.db --from 20ms --to 60ms --fail-if 'never_freed_bytes > 0' >/dev/null || echo "$?"
mtrace-query range rows.db --from 85ms --show-sql | grep -c range_totals
mtrace-query range rows.db --from 60ms --to 20ms || echo "$?"
mtrace-query range rows.db || echo "$?"
# expect stdout
#|                  freed          never             allocated
#|          freed   after  never   freed  allocated     before
#|process   after  blocks  freed  blocks     before     blocks  change  where               site
#|      1  1000 B       1    0 B       0        0 B          0  1000 B  main  main.c:10        1
#|      1     0 B       0   40 B       1        0 B          0    40 B  worker  libwork.so     5
#|      1    16 B       1    0 B       0        0 B          0    16 B  libwork.so             6
#|next: mtrace-query groups rows.db --site 1
#|process_id,freed_after_bytes,freed_after_blocks,never_freed_bytes,never_freed_blocks,allocated_before_bytes,allocated_before_blocks,change_bytes,change_blocks,function,source,line,module,call_site_id
#|1,0,0,0,0,1000,1,-1000,-1,main,/opt/server/src/main.c,10,/opt/server/bin/server,1
#|1,0,0,200,1,0,1,200,0,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2
#|2,0,0,30,1,0,0,30,1,main,/opt/server/src/main.c,10,/opt/server/bin/server,1
#|2,0,0,10,1,0,0,10,1,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
#|[
#| {"process_id":1,"freed_after_bytes":1000,"freed_after_blocks":1,"never_freed_bytes":0,"never_freed_blocks":0,"allocated_before_bytes":0,"allocated_before_blocks":0,"change_bytes":1000,"change_blocks":1,"function":"main","source":"/opt/server/src/main.c","line":10,"module":"/opt/server/bin/server","call_site_id":1},
#| {"process_id":1,"freed_after_bytes":0,"freed_after_blocks":0,"never_freed_bytes":200,"never_freed_blocks":1,"allocated_before_bytes":0,"allocated_before_blocks":0,"change_bytes":200,"change_blocks":1,"function":"Session::clone(int) const","source":"/opt/server/src/session.c","line":88,"module":"/opt/server/bin/server","call_site_id":2}
#|]
#|                 freed          never             allocated
#|         freed   after  never   freed  allocated     before
#|process  after  blocks  freed  blocks     before     blocks  change  where
#|      2    0 B       0   10 B       1        0 B          0    10 B  Cache::reserve  cache.c:31
#|1 more column: --wide
#|next: mtrace-query groups rows.db --site 3
#|3
#|1
#|2
#|2
# expect stderr
#|mtrace-query: --from must be before to
#|Try 'mtrace-query --help'.
#|mtrace-query: range needs a time range: --from TIME, --to TIME or both, as --from 10s --to 20s
#|Try 'mtrace-query --help'.
