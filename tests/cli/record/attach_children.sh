# --attach names running children of the process, because these are not recorded and may make all allocations.
. "$CASES/../lib.sh"
cat >program.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            for (;;) { free(malloc(777)); usleep(1000); }
    if (write(1, "", 1) != 1)
        return 1;
    for (;;)
        pause();
}
C
gcc -O0 -fno-builtin -w -o master program.c
mkfifo started
./master >started & master=$!
head -c 1 started >first.txt
children=$(cat /proc/$master/task/$master/children 2>/dev/null || :)
# shellcheck disable=SC2064
trap "kill $master $children 2>/dev/null || :" EXIT
[ -n "$children" ] || { echo "skipped: this kernel does not list children"; exit 77; }
mtrace-record -o run.dat --attach $master --for 100ms >attached.txt 2>&1 || {
    grep -q 'ptrace\|not permitted\|not allowed' attached.txt && echo "skipped: this process may not attach to others" && exit 77
    cat attached.txt
}
sed -n "s|$PWD/||; s|(${children% })|(CHILDREN)|; s|(${children% * }, .*)|(CHILDREN)|; /children/p" attached.txt
# expect stdout
#|mtrace-record: warning: its children run already (CHILDREN) and will not be recorded: attach to each
#|mtrace-record: no allocation of 'master' was recorded: its children that ran already are not recorded: attach to each (CHILDREN)
