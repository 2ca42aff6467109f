/* SPDX-License-Identifier: MIT */
/*
 * A lock-free allocator without caches: a block that one thread frees is immediately available to
 * others. Blocks of HANDOVER_BYTES come from one global list, which has fewer of them than there
 * are threads. A thread never gets the block that it had last; without another it waits. All other
 * memory is cut from an arena and never reused.
 */
#include "tests/workloads/handover.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    ARENA_BYTES = 8 << 20,
    HEADER_BYTES = 16,
    SPINS = 2000,
};

/* Header of each block. */
struct header {
    _Atomic uint32_t next; /* in the list: place of the next block, 0 = end */
    _Atomic int32_t last_owner;
    size_t size_bytes;
};

static _Alignas(16) unsigned char arena[ARENA_BYTES];
static _Atomic size_t used_bytes = HEADER_BYTES; /* place 0 means none */
static _Atomic uint64_t list; /* low half: place of the first block; high half: changes */
static _Atomic int n_owners;
static _Thread_local int owner;

static struct header *header_at(uint32_t place)
{
    return (struct header *)(void *)(arena + place);
}

static uint32_t cut(size_t size_bytes)
{
    size_t n_bytes = (size_bytes + HEADER_BYTES + 15) & ~(size_t)15;
    size_t place = atomic_fetch_add(&used_bytes, n_bytes);

    if (size_bytes > ARENA_BYTES || place + n_bytes > ARENA_BYTES)
        return 0;
    header_at((uint32_t)place)->size_bytes = size_bytes;
    return (uint32_t)place;
}

static void push(uint32_t place)
{
    uint64_t head = atomic_load_explicit(&list, memory_order_relaxed);
    uint64_t pushed;

    do {
        atomic_store_explicit(&header_at(place)->next, (uint32_t)head, memory_order_relaxed);
        pushed = ((head >> 32) + 1) << 32 | place;
    } while (!atomic_compare_exchange_weak_explicit(&list, &head, pushed, memory_order_release,
                                                    memory_order_relaxed));
}

/* A thread that reads the last owner of a block that was taken since fails at the exchange. */
static bool is_for_me(uint64_t head)
{
    return (uint32_t)head != 0
           && atomic_load_explicit(&header_at((uint32_t)head)->last_owner, memory_order_relaxed)
                  != owner;
}

static uint32_t pop(void)
{
    uint64_t head = atomic_load_explicit(&list, memory_order_acquire);
    uint64_t popped;

    for (unsigned n = 0;;) {
        if (!is_for_me(head)) {
            if (++n % SPINS == 0)
                sched_yield();
            head = atomic_load_explicit(&list, memory_order_acquire);
            continue;
        }
        popped = ((head >> 32) + 1) << 32
                 | atomic_load_explicit(&header_at((uint32_t)head)->next, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&list, &head, popped, memory_order_acquire,
                                                  memory_order_acquire))
            return (uint32_t)head;
    }
}

static uint32_t take_over(void)
{
    static atomic_flag is_filled = ATOMIC_FLAG_INIT;
    uint32_t place;

    if (!atomic_flag_test_and_set(&is_filled))
        for (int i = 0; i < HANDOVER_BLOCKS; i++)
            push(cut(HANDOVER_BYTES));
    if (owner == 0)
        owner = atomic_fetch_add(&n_owners, 1) + 1;
    place = pop();
    atomic_store_explicit(&header_at(place)->last_owner, owner, memory_order_relaxed);
    return place;
}

/* The functions below use this one, not malloc, which a preloaded library may replace. */
static void *get(size_t size_bytes)
{
    uint32_t place = size_bytes == HANDOVER_BYTES ? take_over() : cut(size_bytes);

    return place ? arena + place + HEADER_BYTES : NULL;
}

void *malloc(size_t size_bytes)
{
    return get(size_bytes);
}

static size_t usable_bytes(const void *block)
{
    return block ? header_at((uint32_t)((const unsigned char *)block - arena) - HEADER_BYTES)
                       ->size_bytes
                 : 0;
}

/* Blocks that another allocator made (memalign of the C library) are left alone. */
static void give_back(const void *block)
{
    uintptr_t place = (uintptr_t)block - (uintptr_t)arena - HEADER_BYTES;

    if (block && place < ARENA_BYTES && header_at((uint32_t)place)->size_bytes == HANDOVER_BYTES)
        push((uint32_t)place);
}

void free(void *block)
{
    give_back(block);
}

size_t malloc_usable_size(void *block)
{
    return usable_bytes(block);
}

void *calloc(size_t n, size_t size_bytes)
{
    void *block = get(n * size_bytes); /* the workload asks for no product that overflows */

    return block ? memset(block, 0, n * size_bytes) : NULL;
}

void *realloc(void *old, size_t size_bytes)
{
    size_t old_bytes = usable_bytes(old);
    void *block = get(size_bytes);

    if (block && old) {
        memcpy(block, old, old_bytes < size_bytes ? old_bytes : size_bytes);
        give_back(old);
    }
    return block;
}
