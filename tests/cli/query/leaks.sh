# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case leaks
mtrace-query leaks run.db
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 8 B/s             2  Session::clone  session.c:88  2 stacks
#|                                                          the others are freed in S..  session.c:140
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  cache.c:31
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so
#|   20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                          the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 100 B in 1 block of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern         site  where
#|100 B       1         20 %  once at 15.0 s     3  Cache::reserve  cache.c:31
#|                                                  the others are freed in Cache::reserve  cache.c:31
#|next: mtrace-query leaks run.db --process 2 --site 3    # filter: --function-regex 'Cache::reserve'
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
# case count
mtrace-query leaks run.db --process 1 -n 1
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|bytes  blocks  never freed  pattern       site  where
#|700 B       7         58 %  steady 8 B/s     2  Session::clone  session.c:88  2 stacks
#|                                                the others are freed in Session::cl..  session.c:140
#|and 3 more sites: -n 0
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
# case csv
mtrace-query leaks run.db --format csv --process 1
# expect stdout
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,,
#|1,4000,1,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,1,200000000,200000000,once,,,4000,,,
#|1,30,3,1.0,,,,/opt/server/lib/libwork.so,6,1,5000000000,5000000000,burst,,,30,,,
#|1,20,2,0.5,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,1,1000000000,2000000000,burst,main /opt/server/src/main.c:10,,20,,,
# case hint
# The filter that leaks suggests selects the function of the first row, not its whole namespace.
sqlite3 run.db "UPDATE functions SET name = 'cache::Map<int, std::less<int>>::operator()(int) const' WHERE function_id = 3"
hint=$(mtrace-query leaks run.db --process 1 | sed -n 's/.*filter: //p')
echo "$hint"
eval "mtrace-query leaks run.db --process 1 --csv $hint" | cut -d, -f2,5
# expect stdout
#|--function-regex 'operator\(\)'
#|leaked_bytes,function
#|700,"cache::Map<int
# case json
mtrace-query leaks run.db --format json -n 2
# expect stdout
#|[
#| {"process_id":1,"leaked_bytes":700,"leaked_blocks":7,"share_of_site":0.583333333333333,"function":"Session::clone(int) const","source":"/opt/server/src/session.c","line":88,"module":"/opt/server/bin/server","call_site_id":2,"stacks":2,"leaked_first_ns":10000000000,"leaked_last_ns":90000000000,"pattern":"steady","usually_freed_in":"Session::close /opt/server/src/session.c:140","suppressed_by":null,"weight":44800,"leaked_bytes_margin":null,"leaked_blocks_margin":null,"verdict":null},
#| {"process_id":1,"leaked_bytes":4000,"leaked_blocks":1,"share_of_site":1.0,"function":"Cache::reserve","source":"/opt/server/src/cache.c","line":31,"module":"/opt/server/bin/server","call_site_id":3,"stacks":1,"leaked_first_ns":200000000,"leaked_last_ns":200000000,"pattern":"once","usually_freed_in":null,"suppressed_by":null,"weight":4000,"leaked_bytes_margin":null,"leaked_blocks_margin":null,"verdict":null}
#|]
# case of_stacks
# Leaks are judged by stack: at site 5, one stack leaks its only block, and another frees all of its 90.
sqlite3 run.db "UPDATE site_leaks SET rule_id = NULL WHERE call_site_id = 5"
mtrace-query leaks run.db --process 1 | sed -n '/once at 3/,/theirs/p'
mtrace-query leaks run.db --process 1 --csv | sed -n '/,300,/p'
# expect stdout
#|  300 B       1        100 %  once at 3.0 s            5  worker  libwork.so
#|                                                          other stacks free theirs in m..  main.c:10
#|1,300,1,1.0,worker,,,/opt/server/lib/libwork.so,5,1,3000000000,3000000000,once,,,300,,,
# case rows_read
# leaks reads only the columns of the rows that it needs; with --at also their lifetimes.
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for query in "leaks --from 50%" "leaks --from 50% --at 80%" "growth --from 10%" "timeline --from 50%" "hot --from 50%"; do
    mtrace-query $query rows.db --show-sql 2>&1 | grep allocation_rows
done
# expect stdout
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.ended_by, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND a.allocation_id >= 13;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND a.allocation_id >= 13;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by FROM allocation_rows AS a WHERE 1;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by FROM allocation_rows AS a WHERE 1;
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by, a.slack_bytes, a.intervening_allocations, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND a.allocation_id >= 13;
# case show_sql
mtrace-query leaks run.db --show-sql --process 1 | tee statement
sqlite3 run.db < statement | wc -l
# expect stdout
#|SELECT * FROM leaks WHERE suppressed_by IS NULL AND process_id = 1 LIMIT 21 OFFSET 0;
#|4
# case site
mtrace-query leaks run.db --site 2
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 700 B in 7 blocks of 1 site; 15 % of stacks complete
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
#|process  leaked  leaked blocks  never freed  pattern  stack  where                         site
#|      1   600 B              6         60 %  steady       4  Session::clone  session.c:88     2
#|      1   100 B              1         50 %  once         5  Session::clone  session.c:88     2
#|next: mtrace-query stack run.db 4
# case site_none
# A call site without leaks is reported as such.
mtrace-query leaks run.db --process 3 --site 2
mtrace-query leaks run.db --process 3 --site 2 --csv
# expect stdout
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|process  leaked  leaked blocks  never freed  pattern  stack  where  site
#|process_id,backtrace_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin
# expect stderr
#|mtrace-query: note: no rows
# case suppressions
printf "# ours\n\nleak:^Cache::\nleak:/libwork.so$\n" > rules
mtrace-query leaks run.db --suppressions rules
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 720 B in 9 blocks of 2 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|bytes  blocks  never freed  pattern               site  where
#|700 B       7         58 %  steady 8 B/s             2  Session::clone  session.c:88  2 stacks
#|                                                        the others are freed in Ses..  session.c:140
#| 20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                        the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 4.2 KiB in 5 blocks (leak:^Cache::, and 1 more rule)
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|suppressed: 100 B in 1 block (leak:^Cache::)
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
# case older_views
sqlite3 run.db "DROP VIEW leaks; CREATE VIEW leaks AS SELECT 1 AS old"
mtrace-query leaks run.db --format csv -n 1
# expect stdout
#|process_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,stacks,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,verdict
#|1,700,7,0.583333333333333,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,44800,,,
# case stock_sqlite
sqlite3 run.db "SELECT leaked_bytes, function FROM leaks LIMIT 3"
# expect stdout
#|700|Session::clone(int) const
#|4000|Cache::reserve
#|100|Cache::reserve
