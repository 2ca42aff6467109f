# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# case rss_split
# Heaps count as far as they are resident; raw system calls have a name of their own.
cat >program.c <<'EOC'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile char *g_maps[2];

int main(void)
{
    int how = MAP_PRIVATE | MAP_ANONYMOUS;

    for (int i = 0; i < 200; i++) /* 19 MiB that are not touched */
        if (!malloc(100000))
            return 1;
    g_maps[0] = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, how, -1, 0);
    g_maps[1] = (char *)syscall(SYS_mmap, NULL, 4 << 20, PROT_READ | PROT_WRITE, how, -1, 0);
    for (int i = 0; i < 2; i++)
        memset((char *)g_maps[i], 1, (i ? 4 : 8) << 20);
    usleep(100000);
    return 0;
}
EOC
gcc -fno-builtin -g -o program program.c
mtrace-record -q --sample-memory=10 -o run.dat -- ./program
mtrace-query run.dat 2>import.txt | grep -o '[48]\.0 MiB own mappings\|4\.[0-9] MiB not mapped through libc'
mtrace-query sql run.db "SELECT max(heap_resident_bytes) < 4 << 20 AS is_small FROM memory_samples" --csv
# expect stdout
#|8.0 MiB own mappings
#|4.0 MiB not mapped through libc
#|is_small
#|1
# case copied
# What mremap moves is not copied.
cat >program.c <<'EOC'
#include <stdlib.h>

int main(void)
{
    char *block = malloc(1 << 20);

    for (size_t n = 2; n <= 16; n++) {
        block = realloc(block, n << 20);
        block[(n << 20) - 1] = 1;
    }
    return 0;
}
EOC
gcc -g -o program program.c
mtrace-record -q -o run.dat -- ./program
mtrace-query sql run.dat "SELECT reallocs, copied_bytes FROM reallocs" --csv 2>import.txt
# expect stdout
#|reallocs,copied_bytes
#|15,0
# case growth
# What grew and stayed is listed although the program frees all of it before it ends, in a long teardown.
cat >program.c <<'EOC'
#include <stdlib.h>
#include <unistd.h>

static void *g_cache[4000];

static void fill(int from, int to)
{
    for (int i = from; i < to; i++) {
        g_cache[i] = malloc(2000);
        if (i % 100 == 0)
            usleep(1000);
    }
}

static void work(void)
{
    for (int i = 0; i < 300; i++) {
        free(malloc(5000));
        usleep(300);
    }
}

int main(void)
{
    fill(0, 4000);
    work();
    for (int i = 0; i < 4000; i++) {
        free(g_cache[i]);
        if (i % 20 == 0)
            usleep(300);
    }
    return 0;
}
EOC
gcc -fno-builtin -g -o program program.c
mtrace-record -q -o run.dat -- ./program
mtrace-query growth run.dat --csv 2>import.txt >growth.csv
mtrace-query sql run.db "SELECT function, grown_bytes > 7000000 AS is_all, pattern FROM growth LIMIT 1" --csv
# expect stdout
#|function,is_all,pattern
#|fill,1,plateau
# case stacks
# Of a line two stacks allocate; one leaks all of its blocks, and the share is its own.
cat >program.c <<'EOC'
#include <stdlib.h>

static void *volatile g_last;

static void *make(void)
{
    return malloc(64);
}

static void leaky(void)
{
    g_last = make();
}

static void tidy(void)
{
    free(make());
}

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        leaky();
        tidy();
    }
    return 0;
}
EOC
gcc -fno-builtin -g -o program program.c
mtrace-record -q -o run.dat -- ./program
COLUMNS=200 mtrace-query leaks run.dat 2>import.txt | grep -o 'make  program.c:.*\|other stacks free .*'
mtrace-query sql run.db "SELECT leaked_blocks, share_of_site FROM leaks" --csv
# expect stdout
#|make  program.c:7
#|other stacks free theirs in tidy  program.c:17
#|leaked_blocks,share_of_site
#|1000,1.0
# case advice
# Free memory in one heap below a live block: only malloc_trim returns it. Above the last block: a lower threshold helps as well. In
# arenas that grew one after the other: fewer of them.
cat >program.c <<'EOC'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    N_BLOCKS = 4000
};

static pthread_mutex_t g_turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t g_all;

static void fragment(int n_kept)
{
    static __thread char *blocks[N_BLOCKS];

    for (int i = 0; i < N_BLOCKS; i++)
        memset(blocks[i] = malloc(2000), 1, 2000);
    for (int i = 0; i < N_BLOCKS - n_kept; i++)
        free(blocks[i]);
}

static void *run_thread(void *own)
{
    own = malloc(100);
    pthread_barrier_wait(&g_all); /* each thread has its arena */
    pthread_mutex_lock(&g_turn);
    fragment(1);
    pthread_mutex_unlock(&g_turn);
    pthread_barrier_wait(&g_all);
    return own;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    void *first;

    if (strcmp(argv[argc - 1], "arenas") == 0) {
        pthread_barrier_init(&g_all, NULL, 4);
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, run_thread, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    } else {
        free(malloc(16 << 20)); /* raises the threshold */
        first = malloc(100);
        fragment(strcmp(argv[argc - 1], "below") == 0);
        argc += first == NULL;
    }
    usleep(150000);
    _exit(0);
}
EOC
gcc -fno-builtin -g -pthread -o program program.c
for where in below top arenas; do
    echo "== $where"
    mtrace-record -q -f --sample-memory=10 -o run.dat -- ./program $where
    COLUMNS=500 mtrace-query run.dat 2>import.txt | grep -o 'glibc kept\|To give free.*' || true
    COLUMNS=500 mtrace-query fragmentation run.db | grep -o 'RSS near the\|glibc kept\|To give free.*' | sort -u
done
# expect stdout
#|== below
#|glibc kept
#|To give free pages back, call malloc_trim(0).
#|RSS near the
#|To give free pages back, call malloc_trim(0).
#|glibc kept
#|== top
#|glibc kept
#|To give free pages back, call malloc_trim(0); or lower M_TRIM_THRESHOLD, because most of the free memory is above the last live block.
#|RSS near the
#|To give free pages back, call malloc_trim(0); or lower M_TRIM_THRESHOLD, because most of the free memory is above the last live block.
#|glibc kept
#|== arenas
#|glibc kept
#|To give free pages back, call malloc_trim(0); or set MALLOC_ARENA_MAX=2, because 4 arenas hold most of the free memory.
#|RSS near the
#|To give free pages back, call malloc_trim(0); or set MALLOC_ARENA_MAX=2, because 4 arenas hold most of the free memory.
#|glibc kept
