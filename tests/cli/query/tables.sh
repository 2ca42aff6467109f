# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case peak
mtrace-query peak run.db --process 1
# expect stdout
#|process  peak at    bytes  blocks  share  where                         site
#|      1    1m00s  5.2 KiB      29   54 %  worker  libwork.so               5
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  cache.c:31       3
#|      1    1m00s    600 B       6  6.0 %  Session::clone  session.c:88     2
#|      1    1m00s     30 B       2  0.3 %  libwork.so                       6
#|      1    1m00s     20 B       2  0.2 %  main  main.c:10                  1
#|next: mtrace-query groups run.db --site 5
# case temporary
mtrace-query temporary run.db
# expect stdout
#|         temporary                    allocated  elided
#|process     blocks  temporary  share     blocks  blocks  where                         site
#|      1         80    7.8 KiB   88 %         91      10  worker  libwork.so               5
#|      2          4      400 B   80 %          5       0  Cache::reserve  cache.c:31       3
#|      1          2      200 B   17 %         12       0  Session::clone  session.c:88     2
#|next: mtrace-query groups run.db --site 5
# case unwind_quality
mtrace-query unwind-quality run.db
# expect stdout
#|process  status     module      stacks  allocations  share
#|      1  guessed    libc.so.6        2           91   82 %
#|      1  complete   libc.so.6        4           17   15 %
#|      1  truncated  libwork.so       1            3  2.7 %
#|      2  complete   libc.so.6        1            5  100 %
#|      3  complete   libc.so.6        1            1  100 %
# case hot
mtrace-query hot run.db
# expect stdout
#|         allocated              times      mean
#|process     blocks  allocated  reused  lifetime  where                         site
#|      1         91    9.1 KiB   1.738     88 ns  worker  libwork.so               5
#|      1         12    1.2 KiB     1.5     1.0 s  Session::clone  session.c:88     2
#|      2          5      500 B       1   10.0 us  Cache::reserve  cache.c:31       3
#|      1          4       40 B   1.333    100 ms  main  main.c:10                  1
#|      1          3       30 B       1         -  libwork.so                       6
#|      1          1    3.9 KiB       1         -  Cache::reserve  cache.c:31       3
#|      3          1       64 B       1         -  main  main.c:10                  1
#|next: mtrace-query groups run.db --site 5
# case by_module
mtrace-query by-module run.db
# expect stdout
#|               own      own      own      total    total    total
#|process  allocated   leaked     peak  allocated   leaked     peak  module
#|      1    9.1 KiB    330 B  5.3 KiB    9.1 KiB    330 B  5.3 KiB  libwork.so
#|      1    5.1 KiB  4.6 KiB  4.5 KiB    5.1 KiB  4.6 KiB  4.5 KiB  server
#|      2      500 B    100 B    500 B      500 B    100 B    500 B  server
#|      3       64 B     64 B     64 B       64 B     64 B     64 B  server
#|      1        0 B      0 B      0 B   14.2 KiB  4.9 KiB  9.7 KiB  libc.so.6
#|      1        0 B      0 B      0 B     1000 B    600 B    500 B  libstdc++.so.6
#|      2        0 B      0 B      0 B      500 B    100 B    500 B  libc.so.6
#|      3        0 B      0 B      0 B       64 B     64 B     64 B  libc.so.6
# case stack
mtrace-query stack run.db 5
mtrace-query stack 5 run.db --format json
# expect stdout
#|frame  inlined  where                         offset
#|    0        0  Session::clone  session.c:88  0x2010
#|    0        1  main  main.c:12               0x2010
#|    1        0  main  main.c:10               0x2000
#|    2        0  _start  libc.so.6             0x1000
#|[
#| {"frame":0,"inline_level":0,"function":"Session::clone(int) const","source":"/opt/server/src/session.c","line":88,"module":"/opt/server/bin/server","object_offset":8208},
#| {"frame":0,"inline_level":1,"function":"main","source":"/opt/server/src/main.c","line":12,"module":"/opt/server/bin/server","object_offset":8208},
#| {"frame":1,"inline_level":0,"function":"main","source":"/opt/server/src/main.c","line":10,"module":"/opt/server/bin/server","object_offset":8192},
#| {"frame":2,"inline_level":0,"function":"_start","source":null,"line":null,"module":"/usr/lib/libc.so.6","object_offset":4096}
#|]
# case block
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query block rows.db 0x10011
mtrace-query block 0x30015 rows.db --at 35ms
# expect stdout
#|process  block  allocated at  lifetime   size  ended by  stack  where                         site
#|      1      1           0 s   10.0 ms  100 B  free          4  Session::clone  session.c:88     2
#|      2     13        100 ms   10.0 ms   10 B  free          6  Cache::reserve  cache.c:31       3
#|      2     14        110 ms         -   10 B  -             6  Cache::reserve  cache.c:31       3
#|2 more columns: --wide
#|next: mtrace-query stack rows.db 4
#|process  block  allocated at  lifetime  size  address  kind     ended by  stack  where
#|      1      5       30.0 ms   10.0 ms  20 B  0x30010  realloc  realloc       8  worker  libwork.so
#|1 more column: --wide
#|next: mtrace-query stack rows.db 8
# case allocations
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query allocations rows.db -n 3
mtrace-query allocations rows.db --sort-by size -n 3
mtrace-query allocations rows.db --sort-by address --order dsc -n 2 --format csv
# expect stdout
#|                allocated                                    ended
#|process  block         at  lifetime   size  address  kind    by     where
#|      1      1        0 s   10.0 ms  100 B  0x10010  malloc  free   Session::clone  session.c:88
#|      1      2     5.0 ms         -  200 B  0x10080  malloc  -      Session::clone  session.c:88
#|      1      3    10.0 ms         -   50 B  0x10200  calloc  -      Cache::reserve  cache.c:31
#|2 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query stack rows.db 4
#|                allocated                               ended
#|process  block         at  lifetime     size   address  by     stack  where
#|      1     10    70.0 ms         -  4.9 KiB  0x7f0010  -          6  Cache::reserve  cache.c:31
#|      1      7    50.0 ms   40.0 ms   1000 B   0x11000  free       2  main  main.c:10
#|      1      2     5.0 ms         -    200 B   0x10080  -          4  Session::clone  session.c:88
#|2 more columns: --wide
#|more rows: -n 0
#|next: mtrace-query stack rows.db 6
#|allocation_id,process_id,thread_id,kind,address,size_bytes,usable_bytes,alignment,alloc_ns,free_ns,lifetime_ns,free_thread_id,backtrace_id,free_backtrace_id,ended_by,is_leaked,intervening_allocations,chain_id,chain_position,realloc_from_id,heap_id,marker_id,group_id,free_group_id,function,source,line,module,call_site_id
#|10,1,1,malloc,8323088,5000,5096,,70000000,,,,6,,,1,,,,,,1,1,,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3
#|9,1,2,malloc,196736,16,24,,60000000,80000000,20000000,2,11,8,free,0,3,,,,2,1,1,1,,,,/opt/server/lib/libwork.so,6
# case failures
# Failed calls have a name, and the wall clock is a date.
export TZ=UTC
sqlite3 run.db "INSERT INTO kinds VALUES (0, 'malloc'); INSERT INTO allocation_failures VALUES (1, 1, 1, 5000000, 4, 0, 1000000, 12); UPDATE processes SET start_unix_ns = 1795304884000000000
  WHERE process_id = 1; DELETE FROM processes WHERE process_id > 1"
mtrace-query allocation-failures run.db
mtrace-query allocation-failures run.db --json
mtrace-query sql run.db 'SELECT pid, start_unix_ns FROM processes'
# expect stdout
#|failure  thread    time  stack  kind       size  error   errno
#|      1       1  5.0 ms      4  malloc  977 KiB  ENOMEM     12
#|[
#| {"failure_id":1,"process_id":1,"thread_id":1,"at_ns":5000000,"backtrace_id":4,"kind":"malloc","size_bytes":1000000,"errno_name":"ENOMEM","errno":12}
#|]
#|pid        start_unix_ns
#|812  2026-11-21 23:48:04
# case unknown_site
. "$CASES/../lib.sh"
complain mtrace-query groups run.db --site 9999
complain mtrace-query leaks run.db --site 9999 --format json
complain mtrace-query hot run.db --process 9999
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: 'run.db' has no call site 9999; the column site of leaks, peak or hot has them
#|mtrace-query: 'run.db' has no call site 9999; the column site of leaks, peak or hot has them
#|mtrace-query: 'run.db' has no process 9999; mtrace-query processes lists them
# case stripped
# Without symbols a call site is one call, not the whole file.
. "$CASES/../lib.sh"
sqlite3 run.db "UPDATE call_sites SET object_offset = 0x3100 WHERE call_site_id = 6"
mtrace-query leaks run.db --process 1 | grep libwork
mtrace-query sql run.db "SELECT function, module FROM sites WHERE call_site_id = 6" --csv
# expect stdout
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so+0x3100  libwork.so
#|function,module
#|libwork.so+0x3100,/opt/server/lib/libwork.so
# case unnamed_modules
rm run.db
# If too many libraries were loaded to name all code, a note says so above a report and beside a table.
. "$CASES/../lib.sh"
make_database run.db
sqlite3 run.db "UPDATE meta SET value = 5 WHERE key = 'modules.unnamed'"
mtrace-query run.db leaks 2>notes.txt | sed -n '/libraries/p'
mtrace-query run.db threads --format csv >threads.csv
# expect stdout
#|too many libraries were loaded at the same time: 5 modules without names
# expect stderr
#|mtrace-query: note: too many libraries were loaded at the same time: 5 modules without names
# case caller_line
# A call site without a line shows its innermost caller with a line, if the width allows; json and csv do not change.
sqlite3 run.db "UPDATE frame_lines SET source_id = NULL, line = NULL WHERE frame_id = 6;
UPDATE call_sites SET source_id = NULL, line = NULL WHERE call_site_id = 3"
for command in leaks peak; do
    mtrace-query $command run.db --process 1 | sed -n '/Cache/p'
    COLUMNS=130 mtrace-query $command run.db --process 1 | sed -n '/Cache/p'
done
mtrace-query peak run.db --process 1 --csv | sed -n '/Cache/p'
# Of several stacks the largest one's.
sqlite3 run.db "INSERT INTO backtraces VALUES (12, 7, 12, 6, 4, 3, 'complete');
CREATE TEMP TABLE larger AS SELECT * FROM backtrace_totals WHERE process_id = 1 AND backtrace_id = 6;
UPDATE larger SET backtrace_id = 12, leaked_bytes = leaked_bytes + 1; INSERT INTO backtrace_totals SELECT * FROM larger"
COLUMNS=130 mtrace-query peak run.db --process 1 | sed -n '/Cache/p'
# expect stdout
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  server
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  server  from main  main.c:10
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  server  from main  main.c:10     3
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  server  from main  main.c:10     3
#|1,60000000000,4000,1,0.4,Cache::reserve,,,/opt/server/bin/server,3,,
#|      1    1m00s  3.9 KiB       1   40 %  Cache::reserve  server  from Session::close  session.c:140     3
# case callers
# 3 and 5 are Session::clone, called from two lines of main: one caller.
mtrace-query callers Session::clone run.db
mtrace-query callers run.db clone --by blocks --measure leaked
mtrace-query callees main run.db --format csv
mtrace-query callees run.db main --sort-by blocks -n 1
mtrace-query callers run.db _start --format json
# clone -> clone -> main -> clone: recursion counts a stack once, and no function is its own caller.
sqlite3 run.db "UPDATE frame_lines SET function_id = 3 WHERE frame_id IN (3, 4)"
mtrace-query callers clone run.db --process 1
mtrace-query callees clone run.db --process 1
# Template arguments may be omitted.
sqlite3 run.db "UPDATE functions SET name = 'app::Registry<std::vector<int>, 42>::add(int)' WHERE name LIKE 'Session::clone%'"
mtrace-query callers Registry::add run.db
mtrace-query callers 'app::Registry<..>::add' run.db -n 1
# expect stdout
#|callers of Session::clone: live at the peak, 600 B in 6 blocks, 5.7 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callers of clone: leaked, 700 B in 7 blocks, 14 % of all
#|bytes  blocks  share  function  module
#|700 B       7  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|bytes,blocks,share,function,module
#|4500,6,0.8680555556,Cache::reserve,/opt/server/bin/server
#|600,6,0.1157407407,Session::clone(int) const,/opt/server/bin/server
#|84,3,0.0162037037,(of its own),
#|callees of main: live at the peak, 5.1 KiB in 15 blocks, 49 % of all
#|  bytes  blocks  share  function        module
#|4.4 KiB       6   87 %  Cache::reserve  server
#|more rows: -n 0
#|next: mtrace-query flamegraph run.db -o heap.svg
#|[
#| {"bytes":10534,"blocks":44,"share":1.0,"function":"(no caller)","module":null}
#|]
#|callers of clone: live at the peak, 600 B in 6 blocks, 6.0 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callees of clone: live at the peak, 600 B in 6 blocks, 6.0 % of all
#|bytes  blocks  share  function      module
#|600 B       6  100 %  (of its own)  -
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callers of Registry::add: live at the peak, 600 B in 6 blocks, 5.7 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callers of app::Registry<..>::add: live at the peak, 600 B in 6 blocks, 5.7 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
