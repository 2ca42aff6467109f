# A bounded log without a follower has more rotated files than a process may open: all are imported. --follow refuses it.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <stdlib.h>

int main(void)
{
    for (int i = 0; i < 400000; i++)
        free(malloc(16 + i % 100));
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c
MTRACE_RING_BYTES=32768 mtrace-record -q --aggregate -o run.dat -- ./program
[ -e run.dat.state ] && { echo "skipped: the program took so long that a state was taken"; exit 77; }
[ "$(ls run.dat.g* | wc -l)" -gt 48 ] || { echo "skipped: rings of this build are large"; exit 77; }
(
    ulimit -n 48
    mtrace-import --no-symbols run.dat run.db >/dev/null 2>&1 && ls run.db
    mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) >= 400000 AS has_all FROM backtrace_totals"
)
complain mtrace-import --follow --no-symbols run.dat followed.db
# expect stdout
#|run.db
#|has_all
#|1
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-import: 'run.dat' was recorded with --aggregate: its events are removed while it grows, so --follow cannot be used; import it repeatedly
#|Try 'mtrace-import --help' for more information.
