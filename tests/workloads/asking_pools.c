/* SPDX-License-Identifier: MIT */
/*
 * asking_pools N_ROUNDS: two threads with a pool each take slabs from malloc, most of which live
 * for a moment. Then it prints the answer of a request about pools and its own counts, for
 * tests/e2e/live_reports.py: lines "own POOL allocated_blocks allocated_bytes live_blocks
 * live_bytes taken_blocks taken_bytes held_bytes".
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    N_POOLS = 2,
    SLAB_BYTES = 4096,
    BLOCK_BYTES = 100,
    N_BLOCKS = 20, /* of a slab */
};

struct arena {
    const char *name;
    uint32_t pool;
    int n_rounds;
    long allocated, live, taken, taken_bytes, held_bytes;
};

/* Every fifth slab grows while its pool has a block in it. Every seventh stays with its blocks, and
 * so do those between. */
static void one_round(struct arena *arena, int round)
{
    bool grows = round % 5 == 0;
    bool stays = round % 7 == 0;
    size_t slab_bytes = SLAB_BYTES;
    char *slab = malloc(slab_bytes);
    void *other = malloc(64);

    if (grows) {
        mtrace_pool_alloc(arena->pool, slab, BLOCK_BYTES);
        mtrace_pool_free(arena->pool, slab);
        arena->allocated++;
        slab_bytes = (size_t)4 * SLAB_BYTES;
        slab = realloc(slab, slab_bytes);
    }
    for (int i = 0; i < N_BLOCKS; i++)
        mtrace_pool_alloc(arena->pool, slab + (ptrdiff_t)i * BLOCK_BYTES, BLOCK_BYTES);
    for (int i = 0; i < N_BLOCKS; i += 2)
        mtrace_pool_free(arena->pool, slab + (ptrdiff_t)i * BLOCK_BYTES);
    arena->allocated += N_BLOCKS;
    arena->taken++;
    arena->taken_bytes += (long)slab_bytes;
    free(other);
    if (stays) {
        arena->live += N_BLOCKS / 2;
        arena->held_bytes += (long)slab_bytes;
    } else {
        free(slab); /* and with it what was live in it */
    }
}

static void *work(void *argument)
{
    struct arena *arena = argument;

    for (int round = 0; round < arena->n_rounds; round++)
        one_round(arena, round);
    return NULL;
}

int main(int argc, char **argv)
{
    struct arena arenas[N_POOLS] = {{.name = "first"}, {.name = "second"}};
    pthread_t threads[N_POOLS];

    for (int i = 0; i < N_POOLS; i++) {
        arenas[i].pool = mtrace_pool_create(arenas[i].name);
        arenas[i].n_rounds = (argc > 1 ? atoi(argv[1]) : 1000) + i;
        if (pthread_create(&threads[i], NULL, work, &arenas[i]) != 0)
            abort();
    }
    for (int i = 0; i < N_POOLS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_POOLS; i++) {
        const struct arena *a = &arenas[i];
        printf("own %s %ld %ld %ld %ld %ld %ld %ld\n", a->name, a->allocated,
               a->allocated * BLOCK_BYTES, a->live, a->live * BLOCK_BYTES, a->taken, a->taken_bytes,
               a->held_bytes);
    }
    fflush(stdout);
    return mtrace_report("by-pool --csv", STDOUT_FILENO);
}
