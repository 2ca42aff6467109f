# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../lib.sh"
# case unknown_command
make_database
complain mtrace-query leeks run.db
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: unknown command 'leeks'; did you mean leaks?
#|Try 'mtrace-query --help'.
# case misspelt
# Messages suggest the nearest filter or option, the range of the run, or the formats of pictures. An unknown PID is not a usage error.
. "$CASES/../fixture.sh"
complain mtrace-query leaks run.db functionregex=x
complain mtrace-query leaks run.db --functionregex=x
complain mtrace-query leaks run.db --unheard-of
complain mtrace-query leaks run.db -Z
complain mtrace-query leaks run.db --site
complain mtrace-query leaks run.db --json=1
complain mtrace-query leaks run.db extra
complain mtrace-query callers run.db operator=
complain mtrace-query live run.db --at 999s
complain mtrace-query leaks run.db --at 999s
complain mtrace-query peak run.db -o x.png
complain mtrace-query timeline run.db -o x.PDF
complain mtrace-query flamegraph run.db -o x.html
complain mtrace-query leaks run.db --process 99999
ls
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|run.db
# expect stderr
#|mtrace-query: unknown filter 'functionregex'; did you mean function_regex?
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '--functionregex'; did you mean --function-regex?
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '--unheard-of'; mtrace-query help options lists them
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '-Z'
#|Try 'mtrace-query --help'.
#|mtrace-query: option '--site' needs a value
#|Try 'mtrace-query --help'.
#|mtrace-query: option '--json=1' takes no value
#|Try 'mtrace-query --help'.
#|mtrace-query: unexpected argument 'extra'
#|Try 'mtrace-query --help'.
#|mtrace-query: no function is called 'operator='; mtrace-query by-function lists them
#|mtrace-query: --at '999s' is after the end of the run; the run is from 0 s to 1m40s
#|Try 'mtrace-query --help'.
#|mtrace-query: --at '999s' is after the end of the run; the run is from 0 s to 1m40s
#|Try 'mtrace-query --help'.
#|mtrace-query: 'x.png': png is not written; name a file.svg for a picture, or a file.html for the command report
#|Try 'mtrace-query --help'.
#|mtrace-query: 'x.PDF': pdf is not written; name a file.svg for a picture, or a file.html for the command report
#|Try 'mtrace-query --help'.
#|mtrace-query: 'x.html' would be no page: only the command report writes HTML; pictures are written as .svg
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' has no process 99999; mtrace-query processes lists them
# case arguments
# Wrong arguments: one line says which argument is wrong and what to do.
. "$CASES/../fixture.sh"
echo '== callers unknown'
complain mtrace-query callers nowhere run.db
echo '== describe unknown'
complain mtrace-query describe leeks
echo '== export bad format'
complain mtrace-query export --to callgrind run.db
echo '== export no format'
complain mtrace-query export run.db
echo '== fail if bad'
complain mtrace-query leaks run.db --fail-if "leeks > 1"
echo '== lines unknown'
complain mtrace-query lines ession.c run.db
echo '== no arguments'
complain mtrace-query
echo '== site of summary'
complain mtrace-query run.db --site 2 --format json
echo '== no id'
complain mtrace-query leaks run.db --site 0
complain mtrace-query leaks run.db --process 0
echo '== stack bad'
complain mtrace-query stack run.db five
echo '== stack unknown'
complain mtrace-query stack run.db 99
echo '== suppressions bad'
printf "\nrace:foo\n" > rules
complain mtrace-query leaks run.db --suppressions rules
echo '== suppressions empty'
printf "leak:*\n" > rules
complain mtrace-query leaks run.db --suppressions rules
# expect stdout
#|== callers unknown
#|status 1, lines on stderr 1
#|== describe unknown
#|status 2, lines on stderr 2
#|== export bad format
#|status 2, lines on stderr 2
#|== export no format
#|status 2, lines on stderr 2
#|== fail if bad
#|status 2, lines on stderr 2
#|== lines unknown
#|status 1, lines on stderr 1
#|== no arguments
#|status 2, lines on stderr 2
#|== site of summary
#|status 2, lines on stderr 2
#|== no id
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|== stack bad
#|status 2, lines on stderr 2
#|== stack unknown
#|status 1, lines on stderr 1
#|== suppressions bad
#|status 2, lines on stderr 2
#|== suppressions empty
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: no function is called 'nowhere'; mtrace-query by-function lists them
#|mtrace-query: unknown view or table 'leeks'; did you mean leaks?
#|Try 'mtrace-query --help'.
#|mtrace-query: --to 'callgrind': flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: export needs --to FORMAT: flamegraph.pl, heaptrack, pprof, speedscope, dhat, massif or json
#|Try 'mtrace-query --help'.
#|mtrace-query: --fail-if 'leeks > 1': no such column: leeks; columns: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: no source file is called 'ession.c'; give its name or the end of its path
#|mtrace-query: no database is named
#|Try 'mtrace-query --help'.
#|mtrace-query: 'summary' cannot be restricted by site: it has no call_site_id
#|Try 'mtrace-query --help'.
#|mtrace-query: --site '0': an id is expected; the first is 1
#|Try 'mtrace-query --help'.
#|mtrace-query: --process '0': an id is expected; the first is 1
#|Try 'mtrace-query --help'.
#|mtrace-query: 'five' is not a stack's id; mtrace-query groups lists them
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' has no stack 99; mtrace-query groups lists them
#|mtrace-query: 'rules' line 2: 'race:foo' is not a rule; write leak:PATTERN
#|Try 'mtrace-query --help'.
#|mtrace-query: 'rules' line 1: an empty pattern would suppress every leak
#|Try 'mtrace-query --help'.
# case files
# Files that are no database of mtrace, damaged databases, and wrong names.
. "$CASES/../fixture.sh"
echo '== cut database'
head -c 20000 run.db > cut.db
complain mtrace-query leaks cut.db
echo '== directory'
mkdir d
complain mtrace-query leaks d
echo '== empty file'
: > empty.db
complain mtrace-query leaks empty.db
echo '== foreign database'
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-query leaks other.db
echo '== missing log'
complain mtrace-query leaks missing.dat
echo '== newer database'
cp run.db newer.db; sqlite3 newer.db "PRAGMA user_version = 99"
complain mtrace-query leaks newer.db
echo '== no database'
complain mtrace-query leaks
echo '== no such file'
complain mtrace-query none.db
ls
echo '== not a database'
echo text >text.db
complain mtrace-query text.db
# expect stdout
#|== cut database
#|status 1, lines on stderr 1
#|== directory
#|status 1, lines on stderr 1
#|== empty file
#|status 1, lines on stderr 1
#|== foreign database
#|status 1, lines on stderr 1
#|== missing log
#|status 1, lines on stderr 1
#|== newer database
#|status 1, lines on stderr 1
#|== no database
#|status 2, lines on stderr 2
#|== no such file
#|status 1, lines on stderr 1
#|cut.db
#|d
#|empty.db
#|newer.db
#|other.db
#|run.db
#|== not a database
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: 'cut.db' is damaged; import the recording again
#|mtrace-query: 'd' is a directory; name a database that mtrace-import made
#|mtrace-query: 'empty.db' is empty; mtrace-import makes databases
#|mtrace-query: 'other.db' is a database of another program; mtrace-import makes ours
#|mtrace-query: cannot open 'missing.dat': No such file or directory
#|mtrace-query: 'newer.db' has schema 99, this mtrace reads 1; use a newer mtrace
#|mtrace-query: leaks needs a database
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot open 'none.db': No such file or directory
#|mtrace-query: 'text.db' is not an mtrace database; mtrace-import makes one
# case bad_range
. "$CASES/../fixture.sh"
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
# case bad_values
# Unusable values: one line has the option, the value, and what is accepted.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
complain mtrace-query allocations rows.db --address-min 0xg
complain mtrace-query allocations rows.db --sise-min 4
complain mtrace-query allocations rows.db --kind nothing
complain mtrace-query allocations rows.db --to 101%
complain mtrace-query allocations rows.db --function-regex "a(b"
complain mtrace-query allocations rows.db --size-min 5x
complain mtrace-query allocations rows.db --thread nobody
complain mtrace-query allocations rows.db --from 5x
complain mtrace-query allocations rows.db --lifetime foo
complain mtrace-query leaks run.db -n many
complain mtrace-query leaks run.db --process 9
complain mtrace-query leaks run.db --sort-by bites
complain mtrace-query leaks run.db --format xml
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: --address-min: '0xg' is not an address; write it as 0x7f00 or in decimal
#|Try 'mtrace-query --help'.
#|mtrace-query: unknown option '--sise-min'; did you mean --size-min?
#|Try 'mtrace-query --help'.
#|mtrace-query: --kind: 'nothing' is unknown; choose from malloc, calloc, realloc, aligned_alloc
#|Try 'mtrace-query --help'.
#|mtrace-query: --to: '101%' is not a percentage; write a number from 0 to 100 with %
#|Try 'mtrace-query --help'.
#|mtrace-query: 'a(b' is not a regular expression: missing closing parenthesis at character 4
#|Try 'mtrace-query --help'.
#|mtrace-query: --size-min: '5x' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB
#|Try 'mtrace-query --help'.
#|mtrace-query: --thread: 'nobody' is unknown; choose from 1, 2, 3, 4, 812, 820, 813, 814, server, pool, server, sh
#|Try 'mtrace-query --help'.
#|mtrace-query: --from: '5x' is not a time; write seconds, or numbers with d, h, m, s, ms, us or ns, as in 4m12s
#|Try 'mtrace-query --help'.
#|mtrace-query: --lifetime: 'foo' is none of all, only_leaked, only_chain_leaked, only_not_deallocated_in_current_range, only_deallocated_in_current_range, only_temporary, only_whole_group_leaked
#|Try 'mtrace-query --help'.
#|mtrace-query: --count 'many': a whole number is expected
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' has no process 9; mtrace-query processes lists them
#|mtrace-query: 'bites' is not a sort key of leaks; allowed: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: --format 'xml': table, json or csv is expected
#|Try 'mtrace-query --help'.
# case live_needs_time
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query live rows.db
# expect status 2
# expect stderr
#|mtrace-query: live needs --at TIME: a time, a percentage of the run, peak or end
#|Try 'mtrace-query --help'.
# case no_filters
# A command whose name begins like a parameter is not taken for the parameter.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in objects spare-capacity object-growth summary; do mtrace-query $command --group cache rows.db || echo "$?"; done
for command in by-group by-tag by-pool claimed-twice threads size-histogram; do mtrace-query $command --group cache rows.db || echo "$?"; done
mtrace-query by-pool --kind malloc rows.db || echo "$?"
# expect stdout
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
#|2
# expect stderr
#|mtrace-query: objects takes no filters, but group was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
#|mtrace-query: spare-capacity takes no filters, but group was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
#|mtrace-query: object-growth takes no filters, but group was given: it shows sums of objects that the program's visitors counted, which cannot be divided by allocation
#|Try 'mtrace-query --help'.
#|mtrace-query: summary takes no filters, but group was given
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --group: 'cache' matches nothing: the recording has no groups
#|Try 'mtrace-query --help'.
#|mtrace-query: --kind: 'malloc' cannot be used for blocks of pools: they have no kinds, heaps, chains or totals of groups
#|Try 'mtrace-query --help'.
# case errors
# Double and invalid frees, with three stacks each.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query errors rows.db
sqlite3 rows.db "INSERT INTO unmatched_frees (unmatched_free_id, process_id, thread_id, at_ns, backtrace_id, call, address) VALUES (1, 1, 2, 45000000, 8, 'free', 0x30010), (2, 1, 1, 95000000, 7, 'free', 0x10084), (3, 1, 1, 96000000, NULL, 'realloc', 0x999)"
mtrace-query errors rows.db
COLUMNS=80 mtrace-query errors rows.db | grep realloc
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
#|      1  invalid_free  realloc       -      -  -
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
#|mtrace-query: note: no rows: no recorded call got an address that was not live. A second free after the address was reused, and new/free mismatches, are not seen (valgrind's memcheck sees them)
#|mtrace-query: 'rows.db' was recorded with --sample-bytes, and frees of blocks that are not samples are not recorded; record without it
