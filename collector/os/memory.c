/* SPDX-License-Identifier: MIT */
#include "collector/os/memory.h"

#include "collector/os/sys.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

void *memory_map_inherited(size_t size_bytes)
{
    long address = sys_map_private(size_bytes);

    return address < 0 && address > -4096 ? NULL : (void *)(uintptr_t)address;
}

enum {
    N_REGIONS = 1024, /* every fork inherits further mappings */
    BEING_WRITTEN = 1,
};

/* The live mappings of memory_map that a fork does not inherit; start 0 = unused, taken by CAS. */
static struct region {
    _Atomic uintptr_t start;
    size_t size_bytes;
} g_regions[N_REGIONS];

static _Atomic bool g_is_inherited; /* set by memory_inherit, never reset */

static bool add_region(const void *start, size_t size_bytes)
{
    for (unsigned i = 0; i < N_REGIONS; i++) {
        uintptr_t unused = 0;
        if (atomic_load_explicit(&g_regions[i].start, memory_order_relaxed) == 0
            && atomic_compare_exchange_strong_explicit(&g_regions[i].start, &unused, BEING_WRITTEN,
                                                       memory_order_acq_rel,
                                                       memory_order_relaxed)) {
            g_regions[i].size_bytes = size_bytes;
            atomic_store_explicit(&g_regions[i].start, (uintptr_t)start, memory_order_release);
            return true;
        }
    }
    return false;
}

static void remove_region(const void *start)
{
    for (unsigned i = 0; i < N_REGIONS; i++)
        if (atomic_load_explicit(&g_regions[i].start, memory_order_relaxed) == (uintptr_t)start)
            atomic_store_explicit(&g_regions[i].start, 0, memory_order_release);
}

/* Never undone: another thread may be about to fork, too, and needs it until then. */
void memory_inherit(void)
{
    atomic_store_explicit(&g_is_inherited, true, memory_order_seq_cst);
    /* This fence comes before the scan of the regions; memory_map adds a region before it reads the
     * flag. So one of the two sees the other. */
    atomic_thread_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < N_REGIONS; i++) {
        uintptr_t start = atomic_load_explicit(&g_regions[i].start, memory_order_acquire);
        if (start > BEING_WRITTEN)
            sys_advise((void *)start, g_regions[i].size_bytes, MADV_DOFORK);
    }
}

/*
 * Listed before MADV_DONTFORK: a handler that forks in between finds it in the list, or inherits
 * it. Another thread that calls memory_inherit now does not need a mapping that is not returned
 * yet.
 */
void *memory_map(size_t size_bytes)
{
    void *start = memory_map_inherited(size_bytes);

    if (!start)
        return NULL;
    sys_advise(start, size_bytes, MADV_DONTDUMP);
    if (!atomic_load_explicit(&g_is_inherited, memory_order_seq_cst)
        && add_region(start, size_bytes)) {
        sys_advise(start, size_bytes, MADV_DONTFORK);
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load_explicit(&g_is_inherited, memory_order_seq_cst))
            sys_advise(start, size_bytes, MADV_DOFORK);
    }
    return start;
}

void memory_unmap(void *start, size_t size_bytes)
{
    if (!start)
        return;
    remove_region(start);
    sys_unmap(start, size_bytes);
}

/* One buffer always exists, also under a seccomp filter; others are mapped. */
static char g_borrowed[MEMORY_BORROWED_BYTES];
static _Atomic bool g_is_borrowed;

char *memory_borrow(void)
{
    if (!atomic_exchange_explicit(&g_is_borrowed, true, memory_order_acquire))
        return g_borrowed;
    return memory_map(MEMORY_BORROWED_BYTES);
}

void memory_return(char *borrowed)
{
    if (borrowed == g_borrowed)
        atomic_store_explicit(&g_is_borrowed, false, memory_order_release);
    else
        memory_unmap(borrowed, MEMORY_BORROWED_BYTES);
}

void memory_unmap_all(void)
{
    for (unsigned i = 0; i < N_REGIONS; i++) {
        uintptr_t start = atomic_load_explicit(&g_regions[i].start, memory_order_acquire);
        if (start > BEING_WRITTEN)
            sys_unmap((void *)start, g_regions[i].size_bytes);
    }
    memory_forget();
}

void memory_forget(void)
{
    for (unsigned i = 0; i < N_REGIONS; i++)
        atomic_store_explicit(&g_regions[i].start, 0, memory_order_relaxed);
    atomic_store_explicit(&g_is_inherited, false, memory_order_relaxed);
    atomic_store_explicit(&g_is_borrowed, false, memory_order_relaxed);
}

/* ---- pools of blocks ---- */

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
        && atomic_fetch_add_explicit(&pool->n_kept, 1, memory_order_relaxed) < pool->max_kept)
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
