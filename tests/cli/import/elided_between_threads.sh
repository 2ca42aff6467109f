# Other threads free blocks between elided ones: the totals still equal the program's own count.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { PRODUCERS = 3, BLOCKS = 60000, SLOTS = 65536 };

static _Atomic(void *) slots[PRODUCERS][SLOTS];

static void *produce(void *arg)
{
    _Atomic(void *) *own = arg;
    for (int i = 0; i < BLOCKS; i++) {
        for (int k = 0; k < 4; k++)
            free(malloc(16 + (i + k) % 200));
        void *block = malloc(1 + i % 1000);
        while (atomic_load(&own[i % SLOTS]))
            ;
        atomic_store(&own[i % SLOTS], block);
        if (i % 16 == 0) /* a recorder that is behind elides nothing */
            usleep(1000);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[i], NULL, produce, slots[i]);
    for (int n = 0, at = 0; n < PRODUCERS * BLOCKS; at++) {
        void *block = atomic_exchange(&slots[at % PRODUCERS][at / PRODUCERS % SLOTS], NULL);
        n += block != NULL;
        free(block);
    }
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
END
gcc -O0 -fno-builtin -w -pthread -o program program.c
mtrace-record -q --cull-temporary=1000 -o run.dat -- ./program
mtrace-import --no-symbols run.dat run.db >/dev/null 2>&1
mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) BETWEEN 900000 AND 900100 AS has_all, sum(elided_blocks) > 0 AS has_elided FROM backtrace_totals"
# expect stdout
#|has_all,has_elided
#|1,1
