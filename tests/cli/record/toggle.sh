# Allocations are recorded while recording is on, and frees of recorded blocks also later.
. "$CASES/../lib.sh"
cat >toggled.c <<'EOF'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile g_kept;

int main(void)
{
    void *freed_while_off;

    for (int i = 0; i < 10; i++)
        g_kept = malloc(100);
    kill(getpid(), SIGUSR1);
    freed_while_off = malloc(4444);
    for (int i = 0; i < 20; i++) {
        g_kept = malloc(200);
        free(g_kept);
    }
    g_kept = malloc(7777);
    kill(getpid(), SIGUSR1);
    free(freed_while_off);
    for (int i = 0; i < 30; i++)
        g_kept = malloc(300);
    return 0;
}
EOF
gcc -O0 -fno-builtin -o toggled toggled.c
mtrace-record -q -o run.dat --start-disabled -- ./toggled
mtrace-import run.dat run.db 2>import.txt || cat import.txt >&2
mtrace-query sql 'SELECT size_bytes, count(*) AS blocks, sum(is_leaked) AS leaked FROM allocations GROUP BY 1' run.db --format csv
sqlite3 run.db 'SELECT started_by, ended_by, allocated_blocks FROM windows'
# expect stdout
#|size_bytes,blocks,leaked
#|200,20,0
#|4444,1,0
#|7777,1,1
#|signal|signal|22
# expect stderr
#|mtrace-query: note: 1 process recorded late, or not all the time: blocks of other times are not included in any number, and blocks that replace them count as new
