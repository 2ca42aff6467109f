/* SPDX-License-Identifier: MIT */
/*
 * pools: allocators inside a program, in parts by the name in argv[1]. The program counts the
 * blocks of each pool, and the test compares that with the database.
 */
#include "include/mtrace.h"
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
    SLAB = 64, /* own_malloc's unit */
    N_BLOCKS = 300,
    N_THREADS = 8,
    N_OF_THREAD = 5000,
};

static size_t size_of(unsigned i)
{
    return 16 + i % 7 * 8;
}

/* V9: blocks inside a block: only pool views count them; malloc's numbers do not include them. */
static void arena(void)
{
    char *slab = own_malloc(SLAB);
    char *other = own_malloc(1);
    uint32_t pool = mtrace_pool_create("arena");
    uint32_t mapped = mtrace_pool_create("mapped");
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long long bytes = 0, freed_bytes = 0;
    unsigned n_freed = 0;

    for (unsigned i = 0; i < N_BLOCKS; i++) {
        mtrace_pool_alloc(pool, slab + (size_t)i * 64, size_of(i));
        bytes += size_of(i);
    }
    for (unsigned i = 0; i < N_BLOCKS; i += 3) {
        mtrace_pool_free(pool, slab + (size_t)i * 64);
        freed_bytes += size_of(i);
        n_freed++;
    }
    mtrace_pool_alloc(mapped, pages + 100, 50);
    mtrace_pool_alloc(pool, NULL, 50); /* it failed */
    keep(other);
    expect_own();
    expect("pool_blocks.arena", N_BLOCKS);
    expect("pool_bytes.arena", bytes);
    expect("pool_freed.arena", n_freed);
    expect("pool_live.arena", bytes - freed_bytes);
    expect("pool_peak.arena", bytes);
    expect("pool_held.arena", OWN_BYTES(SLAB));
    expect("pool_spare.arena", OWN_BYTES(SLAB) - (bytes - freed_bytes));
    expect("pool_inside.arena", N_BLOCKS);
    expect("pool_inside.mapped", 0);
    expect("pool_live.mapped", 50);
}

/*
 * A pool that takes its memory from another one: each counts the blocks that it gave out, so that
 * no sum includes both; the memory of both is malloc's. The inner one reports its own frees.
 */
static void nested(void)
{
    uint32_t outer = mtrace_pool_create("outer");
    uint32_t inner = mtrace_pool_create("inner");
    char *slab = own_malloc(SLAB);

    mtrace_pool_alloc(outer, slab, 4000);
    mtrace_pool_alloc(outer, slab + 4000, 6000);
    for (unsigned i = 0; i < 10; i++)
        mtrace_pool_alloc(inner, slab + (size_t)i * 100,
                          80); /* the first one begins where its parent does */
    mtrace_pool_free(inner, slab + 100);
    mtrace_pool_free(outer, slab + 4000);
    mtrace_pool_resize(outer, slab, slab, 5000);
    expect("pool_blocks.outer", 3);
    expect("pool_live.outer", 5000);
    expect("pool_resized.outer", 1);
    expect("pool_blocks.inner", 10);
    expect("pool_live.inner", 720);
    expect("pool_freed.inner", 1);
    expect("pool_held.outer", OWN_BYTES(SLAB));
    expect("pool_held.inner", OWN_BYTES(SLAB));
    expect("pool_inside.outer", 3);
    expect("pool_inside.inner", 10);
    slab = own_malloc(1);
    mtrace_pool_alloc(mtrace_pool_create("over"), slab, 500);
    mtrace_pool_alloc(mtrace_pool_create("under"), slab + 10, 50);
    own_free(slab, 1); /* ends both levels */
    expect("pool_live.over", 0);
    expect("pool_live.under", 0);
    expect_own();
}

/* Blocks that end with the block below, with the pool, and by a realloc that moves; and blocks that
 * stay. */
static void ends(void)
{
    uint32_t freed = mtrace_pool_create("freed");
    uint32_t reset = mtrace_pool_create("reset");
    uint32_t moved = mtrace_pool_create("moved");
    uint32_t stays = mtrace_pool_create("stays");
    char *a = own_malloc(1);
    char *b = own_malloc(1);
    char *c = malloc(100000);
    char *d = malloc(10000);
    char *grown;

    for (unsigned i = 0; i < 10; i++) {
        mtrace_pool_alloc(freed, a + (size_t)i * 100, 10);
        mtrace_pool_alloc(reset, b + (size_t)i * 100, 20);
        mtrace_pool_alloc(moved, c + (size_t)i * 100, 30);
        mtrace_pool_alloc(stays, d + (size_t)i * 100, 40);
    }
    own_free(a, 1);
    mtrace_pool_destroy(reset);
    mtrace_pool_alloc(reset, b, 21);     /* used on */
    grown = keep(realloc(c, 50u << 20)); /* to a mapping */
    expect("pool_live.moved", grown == c ? 300 : 0);
    grown = keep(realloc(d, 9000)); /* in its place */
    expect("pool_live.stays", grown == d ? 400 : 0);
    expect("pool_held.stays", 9000);
    expect("pool_live.freed", 0);
    expect("pool_freed.freed", 10);
    expect("pool_freed.reset", 10);
    expect("pool_live.reset", 21);
}

/* A resize is one event that ends one row and begins the next. */
static void resize(void)
{
    uint32_t pool = mtrace_pool_create("resized");
    char *slab = own_malloc(SLAB);

    mtrace_pool_resize(pool, NULL, slab, 100);
    mtrace_pool_resize(pool, slab, slab, 150);
    mtrace_pool_resize(pool, slab, slab + 1000, 500);
    mtrace_pool_resize(pool, slab + 1000, NULL, 9999); /* it failed */
    expect("pool_blocks.resized", 3);
    expect("pool_bytes.resized", 750);
    expect("pool_live.resized", 500);
    expect("pool_resized.resized", 2);
}

/* Wrong calls are counted, and change nothing. */
static void misuse(void)
{
    uint32_t pool = mtrace_pool_create("misused");
    char *slab = own_malloc(SLAB);

    mtrace_pool_alloc(0, slab, 10);
    mtrace_pool_alloc(4000000000u, slab, 10); /* a bad handle, and the next */
    mtrace_pool_free(pool + 1, slab);
    mtrace_pool_free(pool, slab); /* unknown */
    mtrace_pool_alloc(pool, slab, 10);
    mtrace_pool_free(pool, slab + 4); /* unknown */
    mtrace_pool_free(pool, slab);
    mtrace_pool_free(pool, slab); /* unknown */
    mtrace_pool_alloc(pool, slab, 20);
    mtrace_pool_alloc(pool, slab, 30);            /* over a live one, whose free was not reported */
    mtrace_pool_alloc(pool, (void *)0x20000, 40); /* in no memory */
    mtrace_pool_alloc(mtrace_pool_create(NULL), slab, 50);
    mtrace_pool_alloc(pool, slab + 1000, (size_t)-1); /* impossible: bad, eight times */
    mtrace_pool_alloc(pool, (void *)8, 10);
    mtrace_pool_alloc(pool, (void *)4096, 10);
    mtrace_pool_alloc(pool, slab + 1000, (size_t)1 << 46);
    mtrace_pool_alloc(pool, (void *)-1, 10);
    mtrace_pool_alloc(pool, (void *)((uintptr_t)1 << 63), 10);
    mtrace_pool_free(pool, (void *)((uintptr_t)1 << 63));
    mtrace_pool_resize(pool, NULL, slab + 1000, (size_t)-1);
    expect("bad_handles", 2 + 8);
    expect("unknown_in_pools", 3);
    expect("pool_blocks.misused", 4);
    expect("pool_live.misused", 70);
    expect("pool_live.", 50);
    expect_own();
}

struct share {
    uint32_t pool;
    char *slab;
    unsigned long long live;
};

static void *take_and_give(void *argument)
{
    struct share *share = argument;

    for (unsigned i = 0; i < N_OF_THREAD; i++) {
        char *at = share->slab + (size_t)(i % 500) * 16;
        if (i >= 500)
            mtrace_pool_free(share->pool, at);
        mtrace_pool_alloc(share->pool, at, 1 + i % 16);
    }
    for (unsigned i = N_OF_THREAD - 500; i < N_OF_THREAD; i++)
        share->live += 1 + i % 16;
    return NULL;
}

static void threads(void)
{
    pthread_t all[N_THREADS];
    struct share shares[N_THREADS];
    unsigned long long live = 0;

    for (unsigned i = 0; i < N_THREADS; i++)
        shares[i] =
            (struct share){i ? shares[0].pool : mtrace_pool_create("shared"), own_malloc(9), 0};
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_create(&all[i], NULL, take_and_give, &shares[i]);
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(all[i], NULL);
        live += shares[i].live;
    }
    expect("pool_blocks.shared", N_THREADS * N_OF_THREAD);
    expect("pool_live.shared", live);
    expect("pool_held.shared", N_THREADS * OWN_BYTES(9));
}

/* Frees are recorded while recording is off; a fork child has its parent's pools. */
static void late(void)
{
    uint32_t pool = mtrace_pool_create("late");
    char *slab = own_malloc(SLAB);
    pid_t child;

    mtrace_pool_alloc(pool, slab, 10);
    mtrace_pool_alloc(pool, slab + 100, 11);
    mtrace_tracking(false);
    mtrace_pool_free(pool, slab);
    mtrace_pool_alloc(pool, slab + 200, 12); /* not recorded, nor its end */
    mtrace_pool_free(pool, slab + 200);
    mtrace_tracking(true);
    child = fork();
    if (child == 0) {
        mtrace_pool_free(pool, slab + 100);
        mtrace_pool_alloc(pool, slab + 300, 3777);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    expect("pool_blocks.late", 2);
    expect("pool_live.late", 11);
    expect("child_pool_bytes", 3777);
}

/* Declarations as in heaptrack_api.h. */
void heaptrack_malloc(void *address, size_t size_bytes) __attribute__((weak));
void heaptrack_realloc(void *old_address, size_t size_bytes, void *address) __attribute__((weak));
void heaptrack_free(void *address) __attribute__((weak));

static void heaptrack(void)
{
    char *slab = own_malloc(SLAB);

    if (heaptrack_malloc && heaptrack_realloc && heaptrack_free) {
        heaptrack_malloc(slab, 100); /* where malloc's block begins, too */
        heaptrack_malloc(slab + 200, 50);
        heaptrack_realloc(slab, 300, slab + 400);
        heaptrack_free(slab + 200);
    }
    expect("pool_blocks.heaptrack_api", 3);
    expect("pool_live.heaptrack_api", 300);
    expect_own();
}

int main(int argc, char **argv)
{
    static const struct workload_part parts[] = {
        {"arena", arena},   {"nested", nested},   {"ends", ends}, {"resize", resize},
        {"misuse", misuse}, {"threads", threads}, {"late", late}, {"heaptrack", heaptrack}};

    return RUN_PART(parts, argc > 1 ? argv[1] : NULL);
}
