/* SPDX-License-Identifier: MIT */
#include "collector/sampling/sampled_blocks.h"

#include "collector/sampling/address_tables.h"

typedef _Atomic uintptr_t place; /* 0: empty */

_Atomic uint8_t g_sampled_blocks_counters[1 << SAMPLED_BLOCKS_COUNTERS_LOG2];

static struct address_tables g_tables;

/* ---- tables ---- */

/* NULL: the table does not exist. */
static place *bucket_of(unsigned table, uintptr_t address)
{
    place *places = table < ADDRESS_TABLES_MAX ? address_tables_places(&g_tables, table) : NULL;

    return places ? places + address_tables_bucket(table, address) : NULL;
}

/* The buckets of the address in all tables. Millions of samples exceed the cache. All buckets are
 * prefetched before the first one is read, so that their cache misses overlap. */
struct buckets {
    place *list[ADDRESS_TABLES_MAX];
    unsigned n;
};

static void ask_for_buckets(struct buckets *ret, uintptr_t address)
{
    place *bucket;

    ret->n = 0;
    while ((bucket = bucket_of(ret->n, address))) {
        __builtin_prefetch(bucket, 1);
        ret->list[ret->n++] = bucket;
    }
}

/* Searches the largest table first, where most addresses are. NULL is not a block, but equals an
 * empty place. */
static place *find_in(const struct buckets *buckets, uintptr_t address)
{
    if (address == 0)
        return NULL;
    for (unsigned table = buckets->n; table-- > 0;)
        for (unsigned i = 0; i < ADDRESS_TABLES_PLACES; i++)
            if (atomic_load_explicit(&buckets->list[table][i], memory_order_acquire) == address)
                return &buckets->list[table][i];
    return NULL;
}

static place *find(uintptr_t address)
{
    struct buckets buckets;

    ask_for_buckets(&buckets, address);
    return find_in(&buckets, address);
}

static bool put(place *bucket, uintptr_t address)
{
    for (unsigned i = 0; i < ADDRESS_TABLES_PLACES; i++) {
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

/* ---- public functions ---- */

bool sampled_blocks_add(const void *block)
{
    uintptr_t address = (uintptr_t)block;
    struct buckets buckets;
    unsigned table = 0;
    place *bucket;

    ask_for_buckets(&buckets, address);
    if (sampled_blocks_may_have(block) && find_in(&buckets, address))
        return true;
    count_more(sampled_blocks_counter(block));
    for (; table < buckets.n; table++)
        if (put(buckets.list[table], address))
            return true;
    do {
        for (; (bucket = bucket_of(table, address)); table++)
            if (put(bucket, address))
                return true;
    } while (address_tables_add(&g_tables, table, sizeof(place)));
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

void sampled_blocks_forget_all(void)
{
    size_t n = (size_t)ADDRESS_TABLES_PLACES << ADDRESS_TABLES_FIRST_BUCKETS_LOG2;
    place *places;

    for (unsigned i = 0; i < ADDRESS_TABLES_MAX; i++, n *= 2) {
        places = address_tables_places(&g_tables, i);
        for (size_t at = 0; places && at < n; at++)
            if (atomic_load_explicit(&places[at], memory_order_relaxed) != 0)
                atomic_store_explicit(&places[at], 0, memory_order_relaxed);
    }
    for (unsigned i = 0; i < 1 << SAMPLED_BLOCKS_COUNTERS_LOG2; i++)
        if (atomic_load_explicit(&g_sampled_blocks_counters[i], memory_order_relaxed) != 0)
            atomic_store_explicit(&g_sampled_blocks_counters[i], 0, memory_order_relaxed);
}
