# Double and invalid frees, with three stacks each.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query errors rows.db
sqlite3 rows.db "INSERT INTO unmatched_frees (unmatched_free_id, process_id, thread_id, at_ns, backtrace_id, call, address) VALUES (1, 1, 2, 45000000, 8, 'free', 0x30010), (2, 1, 1, 95000000, 7, 'free', 0x10084), (3, 1, 1, 96000000, NULL, 'realloc', 0x999)"
mtrace-query errors rows.db
mtrace-query errors rows.db --csv
mtrace-query errors rows.db --json --fail-if "kind = 'double_free'" || echo "$?"
mtrace-query errors rows.db --site 5 | sed -n 1,2p
sqlite3 rows.db "INSERT INTO meta VALUES ('aggregate', 1), ('slim', 1); DELETE FROM packed_allocation_rows WHERE backtrace_id = 8"
mtrace-query errors rows.db --csv | cut -d, -f2-6
sqlite3 rows.db "UPDATE processes SET sample_bytes = 4096"
mtrace-query errors rows.db || echo "$?"
# expect stdout
#|process  kind  call  time  address  offset  size  block  where  site
#|process  kind          call        time  address  offset   size  where
#|      1  double_free   free     45.0 ms  0x30010     0 B   20 B  worker  libwork.so
#|    worker
#|    _start
#|  allocated:
#|    worker
#|    _start
#|  freed first:
#|    worker
#|    _start
#|      1  invalid_free  free     95.0 ms  0x10084     4 B  200 B  Session::close  session.c:140
#|    Session::close  session.c:140
#|    main  main.c:10
#|    _start
#|  allocated:
#|    operator new
#|    Session::clone  session.c:88
#|    main  main.c:10
#|    _start
#|      1  invalid_free  realloc  96.0 ms    0x999       -      -  -
#|2 more columns: --wide
#|next: mtrace-query block rows.db 0x30010
#|process_id,kind,call,at_ns,address,offset_bytes,size_bytes,alloc_ns,first_free_ns,thread_id,first_free_thread_id,allocation_id,backtrace_id,alloc_backtrace_id,first_free_backtrace_id,function,source,line,module,call_site_id,stack,alloc_stack,first_free_stack
#|1,double_free,free,45000000,196624,0,20,30000000,40000000,2,2,5,8,8,8,worker,,,/opt/server/lib/libwork.so,5,worker < _start,worker < _start,worker < _start
#|1,invalid_free,free,95000000,65668,4,200,5000000,,1,,2,7,4,,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server,4,Session::close /opt/server/src/session.c:140 < main /opt/server/src/main.c:10 < _start,operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start,
#|1,invalid_free,realloc,96000000,2457,,,,,1,,,,,,,,,,,,,
#|[
#| {"process_id":1,"kind":"double_free","call":"free","at_ns":45000000,"address":196624,"offset_bytes":0,"size_bytes":20,"alloc_ns":30000000,"first_free_ns":40000000,"thread_id":2,"first_free_thread_id":2,"allocation_id":5,"backtrace_id":8,"alloc_backtrace_id":8,"first_free_backtrace_id":8,"function":"worker","source":null,"line":null,"module":"/opt/server/lib/libwork.so","call_site_id":5,"stack":"worker < _start","alloc_stack":"worker < _start","first_free_stack":"worker < _start"}
#|]
#|3
#|process  kind         call     time  address  offset  size  block  where               site
#|      1  double_free  free  45.0 ms  0x30010     0 B  20 B      5  worker  libwork.so     5
#|kind,call,at_ns,address,offset_bytes
#|unknown,free,45000000,196624,
#|invalid_free,free,95000000,65668,4
#|unknown,realloc,96000000,2457,
#|1
# expect stderr
#|mtrace-query: note: no rows
#|mtrace-query: 'rows.db' was recorded with --sample-bytes, and frees of blocks that are not samples are not recorded; record without it
