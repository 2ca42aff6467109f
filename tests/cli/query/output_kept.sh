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
