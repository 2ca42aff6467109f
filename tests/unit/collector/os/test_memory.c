/* SPDX-License-Identifier: MIT */
/* A block belongs to one thread at a time, and is returned unchanged. */
#include "collector/os/memory.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <sys/mman.h>

enum {
    N_THREADS = 8,
    N_ROUNDS = 20000,
    BLOCK_BYTES = 8192,
    MAX_KEPT = 4
};

struct block {
    struct block_link link;
    _Atomic uint32_t n_owners;
    uint64_t n_uses;
};

static struct block_pool g_pool = {.block_bytes = BLOCK_BYTES, .max_kept = MAX_KEPT};

static bool is_mapped(void *page)
{
    unsigned char is_resident;

    return mincore(page, 4096, &is_resident) == 0;
}

static void put(struct block *block)
{
    (void)block_pool_keeps(&g_pool, block);
    block_pool_put(&g_pool, block);
}

TEST(the_last_put_is_the_first_taken_as_it_was)
{
    struct block *first = block_pool_take(&g_pool);
    struct block *second = block_pool_take(&g_pool);

    assert_ptr_not_equal(first, second);
    assert_int_equal(first->n_uses, 0);
    first->n_uses = 1;
    second->n_uses = 2;
    put(first);
    put(second);
    assert_ptr_equal(block_pool_take(&g_pool), second);
    assert_ptr_equal(block_pool_take(&g_pool), first);
    assert_int_equal(first->n_uses, 1);
    assert_int_equal(second->n_uses, 2);
    put(first);
    put(second);
}

/* BP-1: blocks within the limit are kept, others are unmapped. */
TEST(a_crowd_leaves_no_more_than_the_limit)
{
    struct block *blocks[3 * MAX_KEPT];
    unsigned n_mapped = 0;

    for (unsigned i = 0; i < 3 * MAX_KEPT; i++)
        blocks[i] = block_pool_take(&g_pool);
    for (unsigned i = 0; i < 3 * MAX_KEPT; i++)
        put(blocks[i]);
    for (unsigned i = 0; i < 3 * MAX_KEPT; i++)
        n_mapped += is_mapped(blocks[i]);
    assert_int_equal(n_mapped, MAX_KEPT);
}

static void *take_and_put(void *ret_n_wrong)
{
    uintptr_t n_wrong = 0;

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        struct block *block = block_pool_take(&g_pool);
        n_wrong += block == NULL || atomic_fetch_add(&block->n_owners, 1) != 0;
        block->n_uses++;
        n_wrong += atomic_fetch_sub(&block->n_owners, 1) != 1;
        put(block);
    }
    *(uintptr_t *)ret_n_wrong = n_wrong;
    return NULL;
}

TEST(no_two_threads_have_one_block)
{
    pthread_t threads[N_THREADS];
    uintptr_t n_wrong[N_THREADS];

    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_put, &n_wrong[i]), 0);
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(n_wrong[i], 0);
    }
}

TEST(a_child_forgets_what_is_not_mapped_there)
{
    struct block *kept = block_pool_take(&g_pool);
    struct block *fresh;

    put(kept);
    block_pool_forget(&g_pool);
    fresh = block_pool_take(&g_pool);
    assert_ptr_not_equal(fresh, kept);
    put(fresh);
}
