# --blame-past attributes blocks to the callers of wrappers. If the caller is a call site already, its id is used.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
mtrace-query leaks run.db --process 1
mtrace-query leaks run.db --process 1 --blame-past Session::clone
mtrace-query leaks run.db --process 1 --blame-past 'Session|main' --csv | cut -d, -f2,3,5,6,7,9
mtrace-query hot run.db --blame-past 'Cache|Session::clone|worker' --stacks -n 2
mtrace-query groups run.db --blame-past Session::clone --site 1 --csv | cut -d, -f1,2,4
mtrace-query hot run.db --blame-past libwork
mtrace-query by-function run.db --blame-past Session::clone --process 1 -n 2
mtrace-query sql "SELECT function, leaked_bytes FROM leaks WHERE process_id = 1 LIMIT 2" run.db --blame-past Session::clone --csv
complain mtrace-query leaks run.db --blame-past nothing_is_called_so
complain mtrace-query leaks run.db --blame-past '('
complain mtrace-query timeline run.db --blame-past main
# A pattern that no function has names libraries: their functions are skipped, too.
cp run.db library.db
for table in frames:frame_id=3 call_sites:call_site_id=2; do
    sqlite3 library.db "UPDATE ${table%:*} SET object_id = (SELECT object_id FROM objects WHERE path LIKE '%libwork%') WHERE ${table#*:}"
done
mtrace-query leaks library.db --process 1 -n 1 --csv | cut -d, -f5,9
mtrace-query leaks library.db --process 1 -n 1 --blame-past 'libwork\.so' --csv | cut -d, -f5,9
# Code without names is named as reports print it.
sqlite3 run.db "UPDATE frame_lines SET function_id = NULL, source_id = NULL, line = NULL WHERE frame_id = 3;
UPDATE call_sites SET function_id = NULL, source_id = NULL, line = NULL, object_offset = 0x2100 WHERE call_site_id = 2"
mtrace-query hot run.db --process 1 -n 2
mtrace-query hot run.db --process 1 -n 2 --blame-past 'server\+0x2100'
complain mtrace-query hot run.db --blame-past 'server\+0x2101'
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
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern         site  where
#|  620 B       8         57 %  steady 6 B/s       1  main  main.c:10  2 stacks
#|                                                    the others are freed in main  main.c:10
#|3.9 KiB       1        100 %  once at 200 ms     3  Cache::reserve  cache.c:31
#|  100 B       1         50 %  once at 50.0 s     7  main  main.c:12
#|                                                    the others are freed in Session..  session.c:140
#|   30 B       3        100 %  burst at 5.0 s     6  libwork.so
#|next: mtrace-query leaks run.db --blame-past Session::clone --process 1 --site 1    # filter: --function-regex 'main'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|leaked_bytes,leaked_blocks,function,source,line,call_site_id
#|700,7,Session::clone(int) const,/opt/server/src/session.c,88,2
#|4000,1,Cache::reserve,/opt/server/src/cache.c,31,3
#|30,3,,,,6
#|20,2,main,/opt/server/src/main.c,10,1
#|process  allocated blocks  allocated  times reused  mean lifetime  where               site  stack
#|      1                91    9.1 KiB         1.738          88 ns  worker  libwork.so     5      8
#|    stack 8: 90 blocks allocated, the heaviest of 2
#|    worker
#|    _start
#|      1                15    4.9 KiB         1.089         700 ms  main  main.c:10        1      4
#|    stack 4: 10 blocks allocated, the heaviest of 3
#|    operator new
#|    Session::clone  session.c:88
#|    main  main.c:10
#|    _start
#|more rows: -n 0
#|next: mtrace-query groups run.db --blame-past 'Cache|Session::clone|worker' --site 5
#|process_id,backtrace_id,allocated_bytes
#|1,4,1000
#|3,2,64
#|1,2,40
#|         allocated              times      mean
#|process     blocks  allocated  reused  lifetime  where                         site
#|      1         91    9.1 KiB   1.738     88 ns  worker  libwork.so               5
#|      1         12    1.2 KiB     1.5     1.0 s  Session::clone  session.c:88     2
#|      2          5      500 B       1   10.0 us  Cache::reserve  cache.c:31       3
#|      1          4       40 B   1.333    100 ms  main  main.c:10                  1
#|      1          3       30 B       1         -  libwork.so                       6
#|      1          1    3.9 KiB       1         -  Cache::reserve  cache.c:31       3
#|      3          1       64 B       1         -  main  main.c:10                  1
#|next: mtrace-query groups run.db --blame-past libwork --site 5
#|               own      own      own      total    total    total
#|process  allocated   leaked     peak  allocated   leaked     peak  function
#|      1    9.1 KiB    300 B  5.2 KiB    9.1 KiB    300 B  5.2 KiB  worker
#|      1    3.9 KiB  3.9 KiB  3.9 KiB    3.9 KiB  3.9 KiB  3.9 KiB  Cache::reserve
#|more rows: -n 0
#|function,leaked_bytes
#|main,620
#|Cache::reserve,4000
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|function,call_site_id
#|Session::clone(int) const,2
#|function,call_site_id
#|main,1
#|         allocated              times      mean
#|process     blocks  allocated  reused  lifetime  where                                        site
#|      1         91    9.1 KiB   1.738     88 ns  worker  libwork.so                              5
#|      1         12    1.2 KiB     1.5     1.0 s  server+0x2100  server  from main  main.c:10     2
#|more rows: -n 0
#|next: mtrace-query groups run.db --site 5
#|process  allocated blocks  allocated  times reused  mean lifetime  where               site
#|      1                91    9.1 KiB         1.738          88 ns  worker  libwork.so     5
#|      1                14    1.0 KiB         1.651         700 ms  main  main.c:10        1
#|more rows: -n 0
#|next: mtrace-query groups run.db --blame-past 'server\+0x2100' --site 5
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: no function or module of 'run.db' matches 'nothing_is_called_so'
#|Try 'mtrace-query --help'.
#|mtrace-query: '(' is not a regular expression: missing closing parenthesis at character 2
#|Try 'mtrace-query --help'.
#|mtrace-query: --blame-past applies to call sites, which timeline does not show
#|Try 'mtrace-query --help'.
#|mtrace-query: no function or module of 'run.db' matches 'server\+0x2101'
#|Try 'mtrace-query --help'.
