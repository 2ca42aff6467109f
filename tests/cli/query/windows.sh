# When allocations were recorded, and what share of the run that is; a window that is not there.
. "$CASES/../fixture.sh"
mtrace-query summary run.db | grep "^recorded " || echo all
sqlite3 run.db "DELETE FROM windows;
  INSERT INTO windows SELECT 1, 1, start_ns + 10000000000, start_ns + 20000000000, 'control', 'time', 100, 10000, 10, 5000, 1, 70, 1 FROM processes WHERE process_id = 1;
  INSERT INTO windows SELECT 2, 1, end_ns - 30000000000, NULL, 'size', 'end', 11, 4570, 4, 50, 71, 111, 1 FROM processes WHERE process_id = 1;
  INSERT INTO windows SELECT 3, 2, start_ns, NULL, 'start', 'end', 1, 1, 0, 0, NULL, NULL, 1 FROM processes WHERE process_id = 2;"
mtrace-query windows run.db
mtrace-query summary run.db | grep '^recorded '
mtrace-query leaks --window 4 run.db || echo status $?
# A rate is one of the time that was recorded: 700 bytes from 10 s to 90 s, and nothing is known of 50 s of them.
mtrace-query leaks run.db --process 1 | grep -o '700 B.*/min'
