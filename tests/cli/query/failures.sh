# What failed is named, and the wall clock is a date.
. "$CASES/../fixture.sh"
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
