# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case groups
mtrace-query groups run.db
# expect stdout
#|                                                         first
#|                    allocated           leaked      own     to
#|process  allocated     blocks   leaked  blocks     peak   last  stack  where
#|      1    8.8 KiB         90      0 B       0  4.9 KiB  1m38s      8  worker  libwork.so
#|      1    3.9 KiB          1  3.9 KiB       1  3.9 KiB    0 s      6  Cache::reserve  cache.c:31
#|      1     1000 B         10    600 B       6    600 B  1m29s      4  Session::clone  session.c:88
#|      2      500 B          5    100 B       1    500 B  9.0 s      6  Cache::reserve  cache.c:31
#|      1      300 B          1    300 B       1    300 B    0 s      9  worker  libwork.so
#|      1      200 B          2    100 B       1    200 B  2.0 s      5  Session::clone  session.c:88
#|      3       64 B          1     64 B       1     64 B    0 s      2  main  main.c:10
#|      1       40 B          4     20 B       2     30 B  1.5 s      2  main  main.c:10
#|      1       30 B          3     30 B       3     30 B    0 s     11  libwork.so
#|1 more column: --wide
#|next: mtrace-query stack run.db 8
# case sorted
mtrace-query groups run.db --sort-by last_ns --order dsc -n 2 --skip 1 --format csv
# expect stdout
#|process_id,backtrace_id,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,min_size_bytes,max_size_bytes,first_ns,last_ns,interval_ns,own_peak_bytes,own_peak_ns,function,source,line,module,call_site_id
#|1,4,10,1000,4,400,6,600,100,100,1000000000,90000000000,89000000000,600,90000000000,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2
#|1,5,2,200,1,100,1,100,100,100,48000000000,50000000000,2000000000,200,49000000000,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2
# case wide
mtrace-query groups run.db -w -n 1
# expect stdout
#|process  stack  allocated blocks  allocated  freed blocks    freed  leaked blocks  leaked  min size  max size  first at  last at  first to last  own peak  own peak at  function  source  line  module                      site
#|      1      8                90    8.8 KiB            90  8.8 KiB              0     0 B     100 B     100 B     1.0 s    1m39s          1m38s   4.9 KiB        1m00s  worker    -          -  /opt/server/lib/libwork.so     5
#|more rows: -n 0
#|next: mtrace-query stack run.db 8
