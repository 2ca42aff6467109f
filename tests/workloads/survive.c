/* SPDX-License-Identifier: MIT */
/*
 * survive FILE THREADS [cycle|grow]: allocates and frees without end, and after each call publishes
 * the number of completed calls in FILE, which outlives the process. So the test knows what must be
 * recorded when it kills the process. With grow it frees nothing, writes to all its memory, and
 * aborts when there is no more. Sizes identify threads: thread T allocates OWN_BYTES(3 * T), + 1
 * and + 2.
 */
#include "tests/workloads/workload.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MAX_THREADS = 64,
    N_KEPT = 16
};

struct published { /* one cache line for each thread; all fields written by it alone */
    _Atomic unsigned long long allocated, freed;
    unsigned long long pid; /* of the process, in the first slot */
    unsigned long long padding[5];
};

static struct published *counts;

static void *grow(void *arg)
{
    struct published *mine = arg;
    unsigned first_n = 3 * (unsigned)(mine - counts);
    unsigned long long allocated = 0;
    for (unsigned i = 0;; i++) {
        char *block = keep(malloc(OWN_BYTES(first_n + i % 3)));
        if (block == NULL)
            abort();
        atomic_store_explicit(&mine->allocated, ++allocated, memory_order_release);
        memset(block, 'x', OWN_BYTES(first_n + i % 3));
    }
    return NULL;
}

static void *cycle(void *arg)
{
    struct published *mine = arg;
    unsigned first_n = 3 * (unsigned)(mine - counts);
    void *kept[N_KEPT] = {NULL};
    unsigned long long allocated = 0;
    unsigned long long freed = 0;
    for (unsigned i = 0;; i++) {
        void **slot = &kept[i % N_KEPT];
        if (*slot != NULL) {
            free(*slot);
            atomic_store_explicit(&mine->freed, ++freed, memory_order_release);
        }
        *slot = keep(malloc(OWN_BYTES(first_n + i % 3)));
        atomic_store_explicit(&mine->allocated, ++allocated, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4)
        return 2;
    void *(*work)(void *) = argc == 4 && strcmp(argv[3], "grow") == 0 ? grow : cycle;
    int n_threads = atoi(argv[2]);
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    size_t bytes = MAX_THREADS * sizeof(struct published);
    if (n_threads < 1 || n_threads > MAX_THREADS || file < 0 || ftruncate(file, (off_t)bytes) != 0)
        return 2;
    counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (counts == MAP_FAILED)
        return 2;
    counts[0].pid = (unsigned long long)getpid();
    for (int i = 1; i < n_threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &counts[i]) != 0)
            return 2;
    }
    work(&counts[0]);
    return 0;
}
