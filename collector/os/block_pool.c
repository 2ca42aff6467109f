/* SPDX-License-Identifier: MIT */
#include "collector/os/block_pool.h"

#include "collector/os/memory.h"

enum {
    PAGE_BITS = 12,
    TAG_BITS = 28
};

static const uint64_t g_tag_mask = ((uint64_t)1 << TAG_BITS) - 1;

static struct block_link *block_of(uint64_t top)
{
    return (struct block_link *)(uintptr_t)(top >> TAG_BITS << PAGE_BITS);
}

static uint64_t next_top(uint64_t old_top, const struct block_link *block)
{
    return (uint64_t)(uintptr_t)block >> PAGE_BITS << TAG_BITS | ((old_top + 1) & g_tag_mask);
}

void *block_pool_take(struct block_pool *pool)
{
    uint64_t top = atomic_load_explicit(&pool->top, memory_order_acquire);
    struct block_link *block;

    while ((block = block_of(top))) {
        /* Stale if another thread has taken the block; then the tag differs. */
        struct block_link *next =
            (struct block_link *)atomic_load_explicit(&block->next, memory_order_relaxed);
        /* acquire: the content written by the last owner */
        if (atomic_compare_exchange_weak_explicit(&pool->top, &top, next_top(top, next),
                                                  memory_order_acquire, memory_order_acquire))
            return block;
    }
    return memory_map(pool->block_bytes);
}

bool block_pool_keeps(struct block_pool *pool, void *block)
{
    struct block_link *link = block;

    if (!link->is_kept
        && atomic_fetch_add_explicit(&pool->n_kept, 1, memory_order_relaxed) < pool->most_kept)
        link->is_kept = true;
    else if (!link->is_kept)
        atomic_fetch_sub_explicit(&pool->n_kept, 1, memory_order_relaxed);
    return link->is_kept;
}

void block_pool_put(struct block_pool *pool, void *block)
{
    struct block_link *link = block;
    uint64_t top = atomic_load_explicit(&pool->top, memory_order_relaxed);

    if (!link->is_kept) {
        memory_unmap(block, pool->block_bytes);
        return;
    }
    do
        atomic_store_explicit(&link->next, (uintptr_t)block_of(top), memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->top, &top, next_top(top, link),
                                                  memory_order_release, memory_order_relaxed));
}

void block_pool_forget(struct block_pool *pool)
{
    atomic_store_explicit(&pool->top, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->n_kept, 0, memory_order_relaxed);
}
