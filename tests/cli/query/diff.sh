# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../lib.sh"
# case diff
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
mtrace-query diff rows.db --at 20ms --at 95ms
mtrace-query diff rows.db --to 95ms --from 20ms --size-max 100 --format csv
mtrace-query diff rows.db --at 95ms --at 20ms -n 1
mtrace-query diff run.db rows.db
mtrace-query diff run.db rows.db --measure allocated --by blocks --process 1 --format csv
mtrace-query diff run.db run.db
# The table is about leaks; what rose most otherwise is named.
cp run.db "a build.db"
sqlite3 "a build.db" "UPDATE backtrace_totals SET allocated_bytes = allocated_bytes + 5000 WHERE backtrace_id = 4 AND process_id = 1"
mtrace-query diff run.db "a build.db"
mtrace-query diff run.db "a build.db" --csv
# Another build: folders and lines have moved, a function is new.
cp run.db built.db
sqlite3 built.db "UPDATE sources SET path = replace(path, '/opt/', '/srv/'); UPDATE call_sites SET line = line + 5;
  UPDATE functions SET name = 'Cache::grow' WHERE name = 'Cache::reserve'"
mtrace-query diff run.db built.db
# Folder and line are of one build: the new one. The measure counts what rose and fell apart.
sqlite3 built.db "UPDATE backtrace_totals SET allocated_bytes = allocated_bytes + 5000 WHERE backtrace_id = 4 AND process_id = 1;
  UPDATE backtrace_totals SET allocated_bytes = allocated_bytes - 1000 WHERE backtrace_id = 6 AND process_id = 1"
mtrace-query diff run.db built.db --measure allocated --csv | cut -d, -f1,7-9
mtrace-query diff run.db built.db --measure allocated | sed -n 1p
# A renamed function that changed is two rows; one that did not change, or is now in another file, is none, and CI does not fail.
mtrace-query diff run.db built.db --fail-if 'change_bytes > 0'
cp run.db moved.db
sqlite3 moved.db "UPDATE sources SET path = replace(path, 'cache.c', 'store.c')"
mtrace-query diff run.db moved.db --fail-if 'change_bytes > 0' | tail -n 2
# A function with several call sites is shown at the line that changed most. If all lines changed, at the largest one of the newer build.
sqlite3 rows.db 'UPDATE call_sites SET function_id = 3, source_id = 2 WHERE call_site_id = 3'
sqlite3 rows.db 'SELECT line FROM call_sites WHERE function_id = 3 ORDER BY line'
mtrace-query diff rows.db --at 20ms --at 95ms -n 1 --format csv
mtrace-query diff rows.db --at 95ms --at 20ms -n 1 --format csv
cp rows.db grown.db
sqlite3 grown.db 'UPDATE backtrace_totals SET leaked_bytes = leaked_bytes + 7000, leaked_blocks = leaked_blocks + 1 WHERE backtrace_id = 6'
mtrace-query diff rows.db grown.db --format csv
sqlite3 grown.db 'UPDATE call_sites SET line = line + 5'
mtrace-query diff rows.db grown.db --format csv
# expect stdout
#|live, from 20ms to 95ms: +5.1 KiB in +2 blocks
#| change  change blocks  before    after  where
#|4.9 KiB              1    50 B  4.9 KiB  Cache::reserve  cache.c:31
#|  200 B              1   200 B    400 B  Session::clone  session.c:88
#|   30 B              0    10 B     40 B  worker  libwork.so
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|30,0,10,40,1,1,worker,,,/opt/server/lib/libwork.so,,
#|live, from 95ms to 20ms: -5.1 KiB in -2 blocks
#|  change  change blocks   before  after  where
#|-4.9 KiB             -1  4.9 KiB   50 B  Cache::reserve  cache.c:31
#|more rows: -n 0
#|leaked: 4.7 KiB before, 5.4 KiB after, change +680 B
#|live at the peak: 10.3 KiB before, 5.4 KiB after, change -4.9 KiB
#|allocated: 14.8 KiB before, 6.5 KiB after, change -8.2 KiB
#|temporary: 8.4 KiB before, 118 B after, change -8.3 KiB
#|leaked, from run.db to rows.db: +680 B in -7 blocks (+1010 B and -330 B)
#|change  change blocks   before    after  where
#| 960 B              1  4.0 KiB  4.9 KiB  Cache::reserve  cache.c:31
#|-300 B             -5    700 B    400 B  Session::clone  session.c:88
#|  40 B              1      0 B     40 B  worker  libwork.so
#| -30 B             -3     30 B      0 B  libwork.so
#|  10 B             -1     20 B     30 B  main  main.c:10
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|-9230,-88,9300,70,91,3,worker,,,/opt/server/lib/libwork.so,,
#|-700,-8,1200,500,12,4,Session::clone(int) const,/opt/server/src/session.c,88,/opt/server/bin/server,,
#|968,-2,40,1008,4,2,main,/opt/server/src/main.c,10,/opt/server/bin/server,,
#|-14,-2,30,16,3,1,,,,/opt/server/lib/libwork.so,,
#|1050,1,4000,5050,1,2,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,,
#|leaked: 4.7 KiB before, 4.7 KiB after, change 0 B
#|live at the peak: 10.3 KiB before, 10.3 KiB after, change 0 B
#|allocated: 14.8 KiB before, 14.8 KiB after, change 0 B
#|temporary: 8.4 KiB before, 8.4 KiB after, change 0 B
#|leaked, from run.db to run.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|leaked: 4.7 KiB before, 4.7 KiB after, change 0 B
#|live at the peak: 10.3 KiB before, 10.3 KiB after, change 0 B
#|allocated: 14.8 KiB before, 19.7 KiB after, change +4.9 KiB
#|temporary: 8.4 KiB before, 8.4 KiB after, change 0 B
#|leaked, from run.db to a build.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|next: mtrace-query diff run.db 'a build.db' --measure allocated
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|leaked: 4.7 KiB before, 4.7 KiB after, change 0 B
#|live at the peak: 10.3 KiB before, 10.3 KiB after, change 0 B
#|allocated: 14.8 KiB before, 14.8 KiB after, change 0 B
#|temporary: 8.4 KiB before, 8.4 KiB after, change 0 B
#|leaked, from run.db to built.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|change_bytes,function,source,line
#|5000,Session::clone(int) const,/srv/server/src/session.c,93
#|-4500,Cache::reserve,/opt/server/src/cache.c,31
#|3500,Cache::grow,/srv/server/src/cache.c,36
#|allocated, from run.db to built.db: +3.9 KiB in 0 blocks (+8.3 KiB and -4.4 KiB)
#|leaked: 4.7 KiB before, 4.7 KiB after, change 0 B
#|live at the peak: 10.3 KiB before, 10.3 KiB after, change 0 B
#|allocated: 14.8 KiB before, 18.7 KiB after, change +3.9 KiB
#|temporary: 8.4 KiB before, 8.4 KiB after, change 0 B
#|leaked, from run.db to built.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|next: mtrace-query diff run.db built.db --measure allocated
#|leaked, from run.db to moved.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|31
#|88
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|5200,2,250,5450,2,4,Session::clone(int) const,/opt/server/src/session.c,31,/opt/server/bin/server,,
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|-5200,-2,5450,250,4,2,Session::clone(int) const,/opt/server/src/session.c,31,/opt/server/bin/server,,
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|14000,2,5460,19460,5,7,Session::clone(int) const,/opt/server/src/session.c,31,/opt/server/bin/server,,
#|change_bytes,change_blocks,before_bytes,after_bytes,before_blocks,after_blocks,function,source,line,module,change_bytes_margin,change_blocks_margin
#|14000,2,5460,19460,5,7,Session::clone(int) const,/opt/server/src/session.c,36,/opt/server/bin/server,,
# expect stderr
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: no rows
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: no rows
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: taken for renamed: Cache::reserve in cache.c is now Cache::grow in cache.c (same bytes and blocks)
#|mtrace-query: note: no rows
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: taken for renamed: Cache::reserve in cache.c is now Cache::grow in cache.c (same bytes and blocks)
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
#|mtrace-query: note: taken for renamed: Cache::reserve in cache.c is now Cache::reserve in store.c (same bytes and blocks)
#|mtrace-query: note: 10 blocks were elided: totals include them, but this answer is made of rows and does not
# case logs
# diff accepts logs, too, and reports a database that is older than the log beside it.
make_log
mv run.dat old.dat
cp old.dat new.dat
mtrace-query diff old.dat new.dat 2>messages.txt | tail -n 2
grep '^importing' messages.txt | sort
mtrace-query diff old.dat new.dat 2>again.txt >answer.txt
grep -c '^importing' again.txt || :
mtrace-query new.db 2>messages.txt >answer.txt
grep -c 'newer' messages.txt || :
touch -d '2001-01-01' new.db
mtrace-query peak new.db 2>&1 >answer.txt | grep newer
mtrace-query diff old.db new.db 2>&1 >answer.txt | grep newer
echo "no log" >new.dat
mtrace-query peak new.db 2>&1 >answer.txt | grep newer || echo "no note"
# expect stdout
#|leaked, from old.db to new.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|importing new.dat to new.db
#|importing old.dat to old.db
#|0
#|0
#|mtrace-query: note: 'new.dat' is newer than 'new.db': import it again
#|mtrace-query: note: 'new.dat' is newer than 'new.db': import it again
#|no note
# case refused
. "$CASES/../fixture.sh"
complain mtrace-query diff run.db
complain mtrace-query diff run.db --at 1s
complain mtrace-query diff run.db --at 1s --at 2s --measure leaked
complain mtrace-query diff run.db missing.db
complain mtrace-query diff run.db run.db run.db
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-query: diff needs two databases, or two times: --at A --at B
#|Try 'mtrace-query --help'.
#|mtrace-query: diff needs two databases, or two times: --at A --at B
#|Try 'mtrace-query --help'.
#|mtrace-query: diff of two times counts live blocks, not leaked ones
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot open 'missing.db': No such file or directory
#|mtrace-query: unexpected argument 'run.db'
#|Try 'mtrace-query --help'.
# case sampled
# diff prints warnings about each of the two databases once. It refuses numbers that samples cannot give, in either database.
. "$CASES/../fixture.sh"
cp run.db sampled.db
sqlite3 sampled.db 'UPDATE processes SET sample_bytes = 1024'
for query in "run.db sampled.db" "sampled.db run.db"; do
    # shellcheck disable=SC2086
    mtrace-query diff $query 2>printed >/dev/null || sed 's/^mtrace-query: //' printed
    echo "$query: $(grep -c '^mtrace-query: note: .*: estimates' printed)"
done
mtrace-query diff run.db sampled.db --measure temporary || echo "$?"
mtrace-query diff sampled.db run.db --measure temporary || echo "$?"
# expect stdout
#|run.db sampled.db: 1
#|sampled.db run.db: 1
#|1
#|1
# expect stderr
#|mtrace-query: 'sampled.db' was recorded with --sample-bytes, and samples do not show how soon a block was freed, because the other allocations are not recorded; record without it
#|mtrace-query: 'sampled.db' was recorded with --sample-bytes, and samples do not show how soon a block was freed, because the other allocations are not recorded; record without it
