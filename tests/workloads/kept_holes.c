/* SPDX-License-Identifier: MIT */
/* Memory that the program unmapped stays free while it uses the heap: it maps it again later. */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <sys/mman.h>

enum {
    HOLE_BYTES = 112 * 1024, /* less than the C library maps for blocks and stacks of threads */
    N_HOLES = 64,
    N_THREADS = 32,
};

static pthread_barrier_t all_have_blocks;

static void *thread(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 1000; i++)
        own_free(own_malloc(i % 3), i % 3);
    pthread_barrier_wait(&all_have_blocks);
    return NULL;
}

static int count_free(char *pages)
{
    int n = 0;

    for (int i = 0; i < N_HOLES; i++) {
        void *wanted = pages + (2 * i + 1) * HOLE_BYTES;
        n += mmap(wanted, HOLE_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)
             == wanted;
    }
    return n;
}

int main(void)
{
    pthread_t ids[N_THREADS];
    char *pages = mmap(NULL, (2 * N_HOLES + 1) * HOLE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int n_free;

    if (pages == MAP_FAILED)
        abort();
    for (int i = 0; i < N_HOLES; i++)
        munmap(pages + (2 * i + 1) * HOLE_BYTES, HOLE_BYTES);
    pthread_barrier_init(&all_have_blocks, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        if (pthread_create(&ids[i], NULL, thread, NULL) != 0)
            abort();
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(ids[i], NULL);
    n_free = count_free(pages);
    expect_own();
    expect("free_holes", (unsigned long long)n_free);
    return n_free == N_HOLES ? 0 : 1;
}
