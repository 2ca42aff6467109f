# What cannot be answered leaves a file as it is; what is read is never written over; a symbolic link is replaced, not followed.
. "$CASES/../fixture.sh"
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
#|mtrace-query: 'colour' is not a sort key of leaks; allowed: process_id, leaked_bytes, leaked_blocks, share_of_site, function, source, line, module, call_site_id, stacks, leaked_first_ns, leaked_last_ns, pattern, usually_freed_in, suppressed_by, weight, leaked_bytes_margin, leaked_blocks_margin
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
