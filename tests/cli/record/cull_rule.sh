# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# --cull-temporary=MS: a block is elided if the same thread frees it within MS, in a short program too; not if it lives longer, is reallocated or is freed by another thread.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *release(void *block)
{
    free(block);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *other = malloc(2004);
    free(malloc(1001));
    void *block = malloc(2001);
    free(malloc(3000000));
    usleep(30000);
    free(block);
    free(malloc(1001));
    free(realloc(malloc(2002), 2003));
    pthread_create(&thread, NULL, release, other);
    pthread_join(thread, NULL);
    free(malloc(1002));
    return 0;
}
END
gcc -O0 -fno-builtin -w -o program program.c -lpthread
for ms in 10 1000; do
    mtrace-record -f -q --cull-temporary=$ms -o run.dat -- ./program
    mtrace-import -f --no-symbols run.dat run.db >/dev/null 2>&1
    echo "$ms ms: $(sqlite3 run.db "SELECT group_concat(size_bytes, ' ') FROM (SELECT size_bytes FROM allocations WHERE size_bytes > 1000 AND size_bytes < 4000000 ORDER BY 1)")"
    sqlite3 run.db "SELECT sum(elided_blocks), sum(elided_bytes) FROM backtrace_totals WHERE max_size_bytes > 1000"
done
complain mtrace-record --pack run.dat --cull-temporary=1
# expect stdout
#|10 ms: 2001 2002 2003 2004
#|4|3003004
#|1000 ms: 2002 2003 2004
#|5|3005005
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-record: --cull-temporary works while recording, not with --pack
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
