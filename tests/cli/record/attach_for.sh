# --attach NAME finds the only process of that name, or lists all of them; --for detaches after a time, and the process continues.
. "$CASES/../lib.sh"
cat >program.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (;;) { free(malloc(777)); usleep(1000); } }
C
gcc -O0 -fno-builtin -w -o mtrace-attached-by-name program.c
name=mtrace-attached-by-name
./$name & first=$!
./$name argument & second=$!
bash -c "exec -a '$name: worker process   ' ./$name" & third=$! # as a title of nginx
trap 'kill $first $second $third 2>/dev/null || :' EXIT
started() { [ "$(readlink /proc/$1/exe)" = "$PWD/$name" ]; }
until started $first && started $second && started $third; do :; done
mtrace-record -o run.dat --attach $name >refused.txt 2>&1 || echo "refused with $?"
sed "s/$first/FIRST/; s/$second/SECOND/; s/$third/THIRD/; s/^ *//" refused.txt
kill $second $third
wait $second $third || :
mtrace-record -o run.dat --attach $name --for 300ms >attached.txt 2>&1 || {
    grep -q 'ptrace\|not permitted\|not allowed' attached.txt && echo "skipped: this process may not attach to others" && exit 77
    cat attached.txt
}
kill -0 $first && echo "runs on"
echo "an earlier recording is kept here, too"
mtrace-record -o run.dat --attach $name --for 100ms 2>&1 | grep exists
mtrace-import run.dat.old run.db 2>/dev/null
mtrace-query run.db sql --csv "SELECT count(*) > 5 AS many, max(alloc_ns) - min(alloc_ns) > 250e6 AS long, max(alloc_ns) - min(alloc_ns) < 5e9 AS short, (SELECT end_kind FROM processes) AS end FROM allocations WHERE size_bytes = 777" 2>/dev/null
mtrace-record --attach mtrace-no-such-name 2>&1 || echo "refused with $?"
mtrace-record --for 3s -- ./program 2>&1 | sed -n 1p
# expect status 2
# expect stdout
#|refused with 125
#|FIRST  ./mtrace-attached-by-name
#|SECOND  ./mtrace-attached-by-name argument
#|THIRD  mtrace-attached-by-name: worker process
#|mtrace-record: 3 processes are named 'mtrace-attached-by-name': give --attach the PID of one of them
#|runs on
#|an earlier recording is kept here, too
#|mtrace-record: 'run.dat' exists: it is 'run.dat.old' now; --force would replace it
#|many,long,short,end
#|1,1,1,detached
#|mtrace-record: no process is named 'mtrace-no-such-name'
#|refused with 127
#|mtrace-record: --for needs --attach; to stop recording a program that is started, use --stop-after
