# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../fixture.sh"
# case output
mtrace-query peak run.db --format csv -o out.csv; cat out.csv | wc -l
mtrace-query peak run.db --format csv -o - | cmp - out.csv; [ ! -e ./- ]
mtrace-query peak run.db --format csv -o out.csv
# expect status 1
# expect stdout
#|8
# expect stderr
#|mtrace-query: 'out.csv' exists; --force replaces it
# case device
# -o DEVICE writes to the device, with --force, too, and does not replace it by a file.
for words in leaks 'report --process 1' flamegraph 'export --to flamegraph.pl'; do
    # shellcheck disable=SC2086 # words
    set -- $words
    command=$1
    shift
    mtrace-query "$command" run.db "$@" -o /dev/null
    mtrace-query "$command" run.db "$@" --force -o /dev/null
    [ -c /dev/null ] || echo "$words: /dev/null is no device any more"
done
mtrace-query leaks run.db -o /dev/stdout | sed -n 1p
# A log or a database cannot be written to a device.
mtrace-record --force -o /dev/null -- true || echo "status $?"
mtrace-import --force run.db /dev/null 2>/dev/null || echo "status $?"
[ -c /dev/null ] && echo "still a device"
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|status 125
#|status 1
#|still a device
# expect stderr
#|mtrace-record: '/dev/null' is not a regular file; choose another name
# case full
mtrace-query peak run.db > /dev/full
# expect status 1
# expect stderr
#|mtrace-query: cannot write 'stdout': No space left on device
# case interrupted
# After a signal the file of -o is unchanged, and no temporary file is left.
echo precious >out.txt
for name in TERM HUP; do
    mtrace-query sql run.db 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' -o out.txt -f &
    while ! ls out.txt.part-* >/dev/null 2>&1; do sleep 0.05; done
    kill -$name $!
    status=0
    wait $! || status=$?
    echo "status $status"
done
cat out.txt
ls
mtrace-query sql run.db 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' --time-limit 50ms
# expect status 1
# expect stdout
#|status 143
#|status 129
#|precious
#|out.txt
#|run.db
# expect stderr
#|mtrace-query: interrupted while reading 'run.db'
#|mtrace-query: interrupted while reading 'run.db'
#|mtrace-query: reading 'run.db' took longer than the time limit allows; narrow the query
# case log_kept
rm run.db
# -o refuses to overwrite the log that it reads, and the database made of it.
. "$CASES/../lib.sh"
make_database
cp run.db kept.db
complain mtrace-query leaks run.dat -o run.dat -f
complain mtrace-query leaks run.dat -o run.db -f
cmp run.db kept.db && mtrace-import run.dat again.db 2>/dev/null && ls
# expect stdout
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|again.db
#|kept.db
#|run.dat
#|run.db
# expect stderr
#|mtrace-query: 'run.dat' is what is read; name another file to write
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' is what is read; name another file to write
#|Try 'mtrace-query --help'.
# case kept
# A failed query leaves the file of -o unchanged; inputs are never overwritten; a symbolic link is replaced, not followed.
. "$CASES/../lib.sh"
echo precious >good.txt
cp run.db copy.db
complain mtrace-query leeks run.db -o good.txt -f
complain mtrace-query leaks nowhere.db -o good.txt -f
complain mtrace-query leaks run.db --sort-by colour --csv -o good.txt -f
complain mtrace-query sql run.db 'SELECT no' -o good.txt -f
cat good.txt
complain mtrace-query leaks run.db -o run.db -f
ln run.db second.db
complain mtrace-query leaks run.db -o second.db -f
complain mtrace-query diff run.db copy.db -o copy.db -f
echo leak:foo >rules.txt
complain mtrace-query leaks run.db --suppressions rules.txt -o rules.txt -f
complain mtrace-query leaks run.db -o leaks.svg
cmp run.db copy.db && cat rules.txt
ln -s good.txt link.txt
complain mtrace-query leaks run.db --csv -o link.txt
complain mtrace-query leaks run.db --csv -o link.txt -f
cat good.txt
test -f link.txt && ! test -h link.txt && wc -l <link.txt
mtrace-query leaks run.db --csv -o /dev/stdout | wc -l
mkfifo pipe
cat pipe >read.txt &
complain mtrace-query leaks run.db --csv -o pipe
wait
cmp read.txt link.txt
ls
# expect stdout
#|status 2, lines on stderr 2
#|status 1, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|precious
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|status 2, lines on stderr 2
#|leak:foo
#|status 1, lines on stderr 1
#|status 0, lines on stderr 0
#|precious
#|6
#|6
#|status 0, lines on stderr 0
#|copy.db
#|good.txt
#|link.txt
#|pipe
#|read.txt
#|rules.txt
#|run.db
#|second.db
# expect stderr
#|mtrace-query: unknown command 'leeks'; did you mean leaks?
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot open 'nowhere.db': No such file or directory
#|mtrace-query: 'colour' is not a sort key of leaks; allowed: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin, verdict
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot run the statement: no such column: no
#|Try 'mtrace-query --help'.
#|mtrace-query: 'run.db' is what is read; name another file to write
#|Try 'mtrace-query --help'.
#|mtrace-query: 'second.db' is what is read; name another file to write
#|Try 'mtrace-query --help'.
#|mtrace-query: 'copy.db' is what is read; name another file to write
#|Try 'mtrace-query --help'.
#|mtrace-query: 'rules.txt' is what is read; name another file to write
#|Try 'mtrace-query --help'.
#|mtrace-query: 'leaks.svg' names a picture, but leaks prints text; flamegraph, heap-map, timeline, growth, size-histogram and lifetime-histogram draw pictures
#|Try 'mtrace-query --help'.
#|mtrace-query: 'link.txt' exists; --force replaces it
