/* SPDX-License-Identifier: MIT */
#include "collector/record/sampled_blocks.h"

#include "collector/platform/memory.h"

enum {
    BUCKET_PLACES = 8,      /* a line of the cache */
    FIRST_BUCKETS_LOG2 = 9, /* 32 KiB */
    MOST_TABLES = 28,
};

typedef _Atomic uintptr_t place; /* 0: empty */

_Atomic uint8_t g_sampled_blocks_counters[1 << SAMPLED_BLOCKS_COUNTERS_LOG2];

static place *_Atomic g_tables[MOST_TABLES];

/* ---- tables ---- */

static unsigned buckets_log2(unsigned table)
{
    return FIRST_BUCKETS_LOG2 + table;
}

/* NULL: there is no such table yet. Those who crowd in one bucket are apart in the next table. */
static place *bucket_of(unsigned table, uintptr_t address)
{
    uint64_t hash = ((uint64_t)address >> 4) * (0x9e3779b97f4a7c15u + ((uint64_t)table << 33));
    place *places =
        table < MOST_TABLES ? atomic_load_explicit(&g_tables[table], memory_order_acquire) : NULL;

    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    return places ? places + (hash >> (64 - buckets_log2(table))) * BUCKET_PLACES : NULL;
}

/* Two who both find all full make one table, and the second finds it there. */
static bool add_table(unsigned table)
{
    size_t size_bytes = sizeof(place) * BUCKET_PLACES << buckets_log2(table);
    place *none = NULL;
    place *fresh = table < MOST_TABLES ? memory_map_inherited(size_bytes) : NULL;

    if (!fresh)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&g_tables[table], &none, fresh,
                                                 memory_order_acq_rel, memory_order_acquire))
        memory_unmap(fresh, size_bytes);
    return true;
}

/* NULL is no block, though all empty places have its address. */
static place *find(uintptr_t address)
{
    place *bucket;

    if (address == 0)
        return NULL;
    for (unsigned table = 0; (bucket = bucket_of(table, address)); table++)
        for (unsigned i = 0; i < BUCKET_PLACES; i++)
            if (atomic_load_explicit(&bucket[i], memory_order_acquire) == address)
                return &bucket[i];
    return NULL;
}

static bool put(place *bucket, uintptr_t address)
{
    for (unsigned i = 0; i < BUCKET_PLACES; i++) {
        uintptr_t empty = 0;
        if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == 0
            && atomic_compare_exchange_strong_explicit(&bucket[i], &empty, address,
                                                       memory_order_release, memory_order_relaxed))
            return true;
    }
    return false;
}

/* ---- counters ---- */

static void count_more(_Atomic uint8_t *counter)
{
    uint8_t n = atomic_load_explicit(counter, memory_order_relaxed);

    while (n != UINT8_MAX
           && !atomic_compare_exchange_weak_explicit(counter, &n, n + 1, memory_order_relaxed,
                                                     memory_order_relaxed))
        ;
}

static void count_less(_Atomic uint8_t *counter)
{
    uint8_t n = atomic_load_explicit(counter, memory_order_relaxed);

    while (n != 0 && n != UINT8_MAX
           && !atomic_compare_exchange_weak_explicit(counter, &n, n - 1, memory_order_relaxed,
                                                     memory_order_relaxed))
        ;
}

/* ---- from outside ---- */

bool sampled_blocks_add(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    unsigned table = 0;
    place *bucket;

    if (sampled_blocks_has(block))
        return true;
    count_more(sampled_blocks_counter(block));
    do {
        for (; (bucket = bucket_of(table, address)); table++)
            if (put(bucket, address))
                return true;
    } while (add_table(table));
    count_less(sampled_blocks_counter(block));
    return false;
}

MTRACE_COLD bool sampled_blocks_take_slow(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    place *at = find(address);

    if (!at
        || !atomic_compare_exchange_strong_explicit(at, &address, 0, memory_order_acq_rel,
                                                    memory_order_relaxed))
        return false;
    count_less(sampled_blocks_counter(block));
    return true;
}

MTRACE_COLD bool sampled_blocks_has_slow(const void *block)
{
    return find((uintptr_t)block) != NULL;
}
