# The program and the commands of README.md work: the leak has its function and line, and every query has an answer.
. "$CASES/../lib.sh"
root=$CASES/../../..
cp "$root/examples/shop.c" .
sed -i 's/usleep(1000)/usleep(100)/' shop.c
gcc -g -o shop shop.c
mtrace-record -q -o run.dat -- ./shop
mtrace-query leaks run.dat 2>import.txt | grep -o 'serve  shop.c:[0-9]*'
cp run.db old.db
grep -o '`mtrace-query [^`]*run\.d[^`]*`' "$root/README.md" | tr -d '`' >commands
[ "$(wc -l <commands)" -ge 10 ] || echo "there are few commands"
while read -r command; do
    status=0
    eval "$command" >answer.txt 2>&1 </dev/null || status=$?
    [ -s answer.txt ] || [ -s heap.svg ] || echo "$command: no answer"
    [ $status = 0 ] || echo "status $status: $command"
done <commands
[ "$(wc -l <"$root/README.md")" -le 120 ] || echo "README.md is long"
[ "$(stat -c %s "$root/docs/pictures/overview.png")" -lt 153600 ] || echo "the picture is large"
# expect stdout
#|serve  shop.c:7
#|serve  shop.c:10
#|status 3: mtrace-query leaks run.dat --fail-if 'leaked_bytes > 0'
