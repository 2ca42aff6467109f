# The windows of a recording and their share of the run; a window that does not exist.
. "$CASES/../fixture.sh"
mtrace-query summary run.db | grep "^recorded " || echo all
sqlite3 run.db "DELETE FROM windows;
  INSERT INTO windows SELECT 1, 1, start_ns + 10000000000, start_ns + 20000000000, 'control', 'time', 100, 10000, 10, 5000, 1, 70, 1 FROM processes WHERE process_id = 1;
  INSERT INTO windows SELECT 2, 1, end_ns - 30000000000, NULL, 'size', 'end', 11, 4570, 4, 50, 71, 111, 1 FROM processes WHERE process_id = 1;
  INSERT INTO windows SELECT 3, 2, start_ns, NULL, 'start', 'end', 1, 1, 0, 0, NULL, NULL, 1 FROM processes WHERE process_id = 2;"
mtrace-query windows run.db
mtrace-query summary run.db | grep '^recorded '
mtrace-query leaks --window 4 run.db || echo status $?
# Rates use the recorded time only: 700 bytes from 10 s to 90 s, of which 50 s were not recorded.
mtrace-query leaks run.db --process 1 | grep -o '700 B.*/s'
# expect stdout
#|all
#|                                 started  ended             allocated           leaked
#|process  window   start     end  by       by     allocated     blocks   leaked  blocks
#|      1       1  10.0 s  20.0 s  control  time     9.8 KiB        100  4.9 KiB      10
#|      1       2   1m10s       -  size     end      4.5 KiB         11     50 B       4
#|      2       3  10.0 s       -  start    end          1 B          1      0 B       0
#|next: mtrace-query hot run.db --window 1
#|recorded    40.0 s in 2 windows, 40 % of its time
#|status 2
#|700 B       7         58 %  steady 23 B/s
# expect stderr
#|mtrace-query: --window: '4' is unknown; choose from 1, 2, 3
#|Try 'mtrace-query --help'.
