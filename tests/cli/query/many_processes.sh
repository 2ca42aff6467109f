# For many processes, totals and a ranking precede the screens of a few of them; --process accepts a PID, too.
. "$CASES/../fixture.sh"
cat >workers.sql <<'SQL'
INSERT INTO processes(process_id, parent_process_id, pid, executable, start_ns, end_ns, end_kind, end_value, peak_bytes, peak_blocks, peak_ns)
  SELECT value, 1, iif(value < 6, 900, 906), '/opt/server/bin/worker', 0, 1000000000, 'exit', 0, 100 * value, value, 500000000
  FROM json_each('[4, 5, 6]');
INSERT INTO backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes,
  leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns, temporary_blocks, temporary_bytes, peak_blocks, peak_bytes,
  own_peak_bytes, own_peak_ns, first_ns, last_ns, min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns,
  chains_started, chains_leaked, realloc_count, realloc_copied_bytes, elided_blocks, elided_bytes)
  SELECT value, 4, value, 100 * value, 0, 0, value, 100 * value, 1, 2, 0, 0, value, 100 * value,
    100 * value, 2, 1, 2, 100, 100, 0, 0, value, value, 0, 0, 0, 0 FROM json_each('[4, 5, 6]');
SQL
make_fixture many.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql" workers.sql
mtrace-query processes many.db
mtrace-query leaks many.db
mtrace-query leaks many.db --function-regex Session -n 1
mtrace-query summary many.db -n 2 | sed -n 1,12p
mtrace-query leaks many.db --process 906 | sed -n 1,2p
mtrace-query leaks many.db --process 4 | sed -n 1,2p
mtrace-query leaks many.db --process 900
# expect status 1
# expect stdout
#|                       leaked                     ended
#|process  pid   leaked  blocks     peak  duration  by      status  signal   executable
#|      1  812  4.6 KiB      13  9.8 KiB     1m40s  signal       9  SIGKILL  /opt/server/bin/server
#|      2  813    100 B       1    500 B    20.0 s  exit         0  -        /opt/server/bin/server
#|      3  814      0 B       0     64 B     1.0 s  exec         0  -        /bin/sh
#|      4  900    400 B       4    400 B     1.0 s  exit         0  -        /opt/server/bin/worker
#|      5  900    500 B       5    500 B     1.0 s  exit         0  -        /opt/server/bin/worker
#|      6  906    600 B       6    600 B     1.0 s  exit         0  -        /opt/server/bin/worker
#|1 more column: --wide
#|next: mtrace-query peak many.db --process 1
#|many.db  6 processes leaked 6.2 KiB in 29 blocks; the highest peak is 9.8 KiB in process 1
#|  bytes  blocks  processes  leaked, all processes together
#|4.0 KiB       2          2  Cache::reserve  cache.c:31
#|2.1 KiB      22          4  Session::clone  session.c:88
#|   30 B       3          1  libwork.so
#|   20 B       2          1  main  main.c:10
#|
#|process  pid  executable               leaked  leaked blocks     peak  duration  ended by  status
#|      1  812  /opt/server/bin/server  4.6 KiB             13  9.8 KiB     1m40s  signal         9
#|      6  906  /opt/server/bin/worker    600 B              6    600 B     1.0 s  exit           0
#|      5  900  /opt/server/bin/worker    500 B              5    500 B     1.0 s  exit           0
#|      4  900  /opt/server/bin/worker    400 B              4    400 B     1.0 s  exit           0
#|      2  813  /opt/server/bin/server    100 B              1    500 B    20.0 s  exit           0
#|      3  814  /bin/sh                     0 B              0     64 B     1.0 s  exec           0
#|
#|many.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|leaked 4.6 KiB in 13 blocks of 4 sites, by bytes, growing ones 64-fold; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 8 B/s             2  Session::clone  session.c:88  2 stacks
#|                                                          the others are freed in S..  session.c:140
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  cache.c:31
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so
#|   20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                          the others are freed in main  main.c:10
#|next: mtrace-query leaks many.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|
#|many.db  worker (process 6, pid 906), 1.0 s, exited with status 0
#|leaked 600 B in 6 blocks of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern             site  where
#|600 B       6        100 %  burst 1 ns to 2 ns     2  Session::clone  session.c:88
#|next: mtrace-query leaks many.db --process 6 --site 2    # filter: --function-regex 'Session::clone'
#|
#|many.db  worker (process 5, pid 900), 1.0 s, exited with status 0
#|leaked 500 B in 5 blocks of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern             site  where
#|500 B       5        100 %  burst 1 ns to 2 ns     2  Session::clone  session.c:88
#|next: mtrace-query leaks many.db --process 5 --site 2    # filter: --function-regex 'Session::clone'
#|and 3 more processes: --process ID
#|many.db  6 processes leaked 2.1 KiB in 22 blocks; the highest peak is 9.8 KiB in process 1; function_regex Session
#|  bytes  blocks  processes  leaked, all processes together
#|2.1 KiB      22          4  Session::clone  session.c:88
#|
#|process  pid  executable              leaked  leaked blocks     peak  duration  ended by  status
#|      1  812  /opt/server/bin/server   700 B              7  9.8 KiB     1m40s  signal         9
#|
#|many.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant; function_regex Session
#|leaked 700 B in 7 blocks of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern       site  where
#|700 B       7         58 %  steady 8 B/s     2  Session::clone  session.c:88  2 stacks
#|                                                the others are freed in Session::cl..  session.c:140
#|next: mtrace-query leaks many.db --process 1 --site 2    # filter: --function-regex 'Session::clone'
#|
#|many.db  worker (process 6, pid 906), 1.0 s, exited with status 0; function_regex Session
#|leaked 600 B in 6 blocks of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern             site  where
#|600 B       6        100 %  burst 1 ns to 2 ns     2  Session::clone  session.c:88
#|next: mtrace-query leaks many.db --process 6 --site 2    # filter: --function-regex 'Session::clone'
#|
#|many.db  worker (process 5, pid 900), 1.0 s, exited with status 0; function_regex Session
#|leaked 500 B in 5 blocks of 1 site; 100 % of stacks complete
#|bytes  blocks  never freed  pattern             site  where
#|500 B       5        100 %  burst 1 ns to 2 ns     2  Session::clone  session.c:88
#|next: mtrace-query leaks many.db --process 5 --site 2    # filter: --function-regex 'Session::clone'
#|and 3 more processes: --process ID
#|many.db  6 processes leaked 6.2 KiB in 29 blocks; the highest peak is 9.8 KiB in process 1
#|  bytes  blocks  processes  leaked, all processes together
#|4.0 KiB       2          2  Cache::reserve  cache.c:31
#|2.1 KiB      22          4  Session::clone  session.c:88
#|   30 B       3          1  libwork.so
#|   20 B       2          1  main  main.c:10
#|
#|process  pid  executable               leaked  leaked blocks     peak  duration  ended by  status
#|      1  812  /opt/server/bin/server  4.6 KiB             13  9.8 KiB     1m40s  signal         9
#|      6  906  /opt/server/bin/worker    600 B              6    600 B     1.0 s  exit           0
#|
#|many.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|many.db  worker (process 6, pid 906), 1.0 s, exited with status 0
#|leaked 600 B in 6 blocks of 1 site; 100 % of stacks complete
#|many.db  worker (process 4, pid 900), 1.0 s, exited with status 0
#|leaked 400 B in 4 blocks of 1 site; 100 % of stacks complete
# expect stderr
#|mtrace-query: 'many.db' has several processes with pid 900; mtrace-query processes lists their ids
