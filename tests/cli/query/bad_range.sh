. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
complain mtrace-query leaks rows.db --from 50% --to 20%
complain mtrace-query live rows.db --at 99s
complain mtrace-query allocations rows.db --from 10h
complain mtrace-query fragmentation rows.db --at 200%
complain mtrace-query hot rows.db --to 10h --format csv
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|process_id,allocated_blocks,allocated_bytes,turnover,mean_lifetime_ns,function,source,line,module,call_site_id,allocated_blocks_margin,allocated_bytes_margin
#|1,4,500,1.25,7500000,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,2,,
#|1,3,70,1.75,10000000,worker,,,/opt/server/lib/libwork.so,5,,
#|1,2,5050,1.0,,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
#|1,2,1008,1.0,20500000,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
#|2,2,20,2.0,10000000,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,,
#|2,1,30,1.0,,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,,
#|1,1,16,1.0,20000000,,,,/opt/server/lib/libwork.so,6,,
#|status 0, lines on stderr 0
# expect stderr
#|mtrace-query: --from is after to: the range is empty
#|Try 'mtrace-query --help'.
#|mtrace-query: --at '99s' is after the end of the run; the run is from 0 s to 200 ms
#|Try 'mtrace-query --help'.
#|mtrace-query: --from '10h' is after the end of the run; the run is from 0 s to 200 ms
#|Try 'mtrace-query --help'.
#|mtrace-query: --alive-at: '200%' is not a percentage; write a number from 0 to 100 with %
#|Try 'mtrace-query --help'.
