# A recording of another tool: no pid, no word about its end, and addresses where a module's place is not known.
. "$CASES/../fixture.sh"
sqlite3 run.db "INSERT INTO meta VALUES ('recorder', 'heaptrack'), ('names', 'recording'); UPDATE processes SET pid = 0, end_kind = 'unknown', end_value = NULL;
    DELETE FROM processes WHERE process_id > 1; UPDATE call_sites SET object_offset = 0x7f0000003000 WHERE call_site_id = 6;
    UPDATE frames SET object_offset = 0x7f0000003100 WHERE frame_id = 11"
mtrace-query leaks run.db --process 1
mtrace-query stack 11 run.db
mtrace-query flamegraph run.db --measure leaked -o heap.svg
grep -o '<title>[^<]*' heap.svg | head -1
sqlite3 run.db "SELECT function FROM sites WHERE call_site_id = 6; SELECT stack FROM stack_texts WHERE backtrace_id = 11"
# expect stdout
#|run.db  server, 1m40s, how it ended was not recorded: "leaked" means live at the end of the recording
#|leaked 4.6 KiB in 13 blocks of 4 sites, growing ones first; 15 % of stacks complete
#|  bytes  blocks  never freed  pattern               site  where
#|  700 B       7         58 %  steady 525 B/min         2  Session::clone  session.c:88  2 stacks
#|                                                          the others are freed in S..  session.c:140
#|3.9 KiB       1        100 %  once at 200 ms           3  Cache::reserve  cache.c:31
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so 0x7f0000003000  libwork.so
#|   20 B       2         50 %  burst 1.0 s to 2.0 s     1  main  main.c:10
#|                                                          the others are freed in main  main.c:10
#|next: mtrace-query leaks run.db --site 2    # filter: --function-regex 'Session::clone'
#|suppressed: 300 B in 1 block (leak:^setlocale$)
#|frame  inlined  where               offset
#|    0        0  libwork.so  0x7f0000003100
#|    1        0  -                      0x0
#|<title>server: leaked, 4.6 KiB in 13 blocks of 5 stacks; 300 B suppressed and omitted
#|libwork.so 0x7f0000003000
#|libwork.so 0x7f0000003100 < 0x0
