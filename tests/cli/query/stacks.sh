# --stacks prints the stack of each row, as stock sqlite3 reads it. For a call site it is the stack with the most of the sort key.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
mtrace-query leaks run.db --stacks -n 2
mtrace-query leaks run.db --site 2 --stacks
mtrace-query peak run.db --stacks --process 1 -n 1 --wide
mtrace-query hot run.db --stacks --json -n 1
mtrace-query hot run.db --stacks -n 2
mtrace-query temporary run.db --stacks -n 1
mtrace-query leaks-by-stack run.db --stacks --csv -n 3
mtrace-query leaks-by-stack run.db --stacks --csv --fail-if 'leaked_bytes = 600' || echo "status $?"
# The same stacks, computed differently by stock sqlite3: no row differs.
mtrace-query leaks run.db --stacks --csv -n 0 >leaks.csv
sqlite3 -csv run.db ".import --csv leaks.csv printed" "
    SELECT count(*), count(stack) FROM printed;
    SELECT * FROM printed JOIN stack_texts AS x USING (backtrace_id) WHERE x.stack <> printed.stack;
    SELECT printed.process_id, printed.call_site_id, printed.backtrace_id, t.backtrace_id FROM printed
    JOIN backtraces AS b ON b.call_site_id = printed.call_site_id
    JOIN backtrace_totals AS t ON t.backtrace_id = b.backtrace_id AND t.process_id = printed.process_id
    WHERE t.leaked_bytes > (SELECT m.leaked_bytes FROM backtrace_totals AS m
                            WHERE m.process_id = printed.process_id AND m.backtrace_id = printed.backtrace_id)
      AND NOT EXISTS (SELECT 1 FROM suppressed_stacks AS s WHERE s.backtrace_id = t.backtrace_id);"
complain mtrace-query threads run.db --stacks
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern         site  where
#|  700 B       7         58 %  steady 8 B/s       2  Session::clone  session.c:88  2 stacks
#|                                                    the others are freed in Session..  session.c:140
#|    stack 4: 600 B, the heaviest of 2
#|    operator new
#|    Session::clone  session.c:88
#|    main  main.c:10
#|    _start
#|3.9 KiB       1        100 %  once at 200 ms     3  Cache::reserve  cache.c:31
#|    stack 6:
#|    Cache::reserve  cache.c:31
#|    main  main.c:10
#|    _start
#|and 2 more sites: -n 0
#|next: mtrace-query leaks run.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 100 B in 1 block of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern         site  where
#|100 B       1         20 %  once at 15.0 s     3  Cache::reserve  cache.c:31
#|                                                  the others are freed in Cache::reserve  cache.c:31
#|    stack 6:
#|    Cache::reserve  cache.c:31
#|    main  main.c:10
#|    _start
#|next: mtrace-query leaks run.db --process 2 --site 3    # filter: --function-regex 'Cache::reserve'
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 700 B in 7 blocks of 1 site; 15 % of stacks complete
#|run.db  server (process 2, pid 813), 20.0 s, exited with status 0
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec; peak 64 B: --process 3
#|process  leaked  leaked blocks  never freed  pattern  stack  where                         site
#|      1   600 B              6         60 %  steady       4  Session::clone  session.c:88     2
#|    operator new
#|    Session::clone  session.c:88
#|    main  main.c:10
#|    _start
#|      1   100 B              1         50 %  once         5  Session::clone  session.c:88     2
#|    Session::clone  session.c:88
#|    main  main.c:12
#|    main  main.c:10
#|    _start
#|next: mtrace-query stack run.db 4
#|process  peak at    bytes  blocks  share  function  source  line  module                      site  bytes margin  blocks margin  stack
#|      1    1m00s  5.2 KiB      29   54 %  worker    -          -  /opt/server/lib/libwork.so     5             -              -      8
#|    stack 8: 4.9 KiB, the heaviest of 2
#|    worker
#|    _start
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|[
#| {"process_id":1,"allocated_blocks":91,"allocated_bytes":9300,"turnover":1.73831775700935,"mean_lifetime_ns":88,"function":"worker","source":null,"line":null,"module":"/opt/server/lib/libwork.so","call_site_id":5,"allocated_blocks_margin":null,"allocated_bytes_margin":null,"backtrace_id":8,"stack":"worker < _start"}
#|]
#|         allocated              times      mean
#|process     blocks  allocated  reused  lifetime  where                         site  stack
#|      1         91    9.1 KiB   1.738     88 ns  worker  libwork.so               5      8
#|    stack 8: 90 blocks allocated, the heaviest of 2
#|    worker
#|    _start
#|      1         12    1.2 KiB     1.5     1.0 s  Session::clone  session.c:88     2      4
#|    stack 4: 10 blocks allocated, the heaviest of 2
#|    operator new
#|    Session::clone  session.c:88
#|    main  main.c:10
#|    _start
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|         temporary                    allocated  elided
#|process     blocks  temporary  share     blocks  blocks  where               site  stack
#|      1         80    7.8 KiB   88 %         91      10  worker  libwork.so     5      8
#|    worker
#|    _start
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|process_id,backtrace_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,stack
#|1,4,600,6,0.6,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,38400,,,operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start
#|1,6,4000,1,1.0,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,200000000,200000000,once,,,4000,,,Cache::reserve /opt/server/src/cache.c:31 < main /opt/server/src/main.c:10 < _start
#|1,5,100,1,0.5,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,50000000000,50000000000,once,Session::close /opt/server/src/session.c:140,,100,,,Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:12 < main /opt/server/src/main.c:10 < _start
#|process_id,backtrace_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin,stack
#|1,4,600,6,0.6,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,10000000000,90000000000,steady,Session::close /opt/server/src/session.c:140,,38400,,,operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start
#|status 3
#|5,5
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: --stacks applies to rows of stacks or call sites, and threads has none
#|Try 'mtrace-query --help'.
