/* SPDX-License-Identifier: MIT */
#include "collector/sampling/live_block_index.h"

#include "collector/sampling/address_tables.h"

#include <stdatomic.h>

enum {
    SAMPLE_PLACES = ADDRESS_TABLES_PLACES << ADDRESS_TABLES_FIRST_BUCKETS_LOG2,
    MIN_SHARE = 16, /* least part of a table that must be used: one of so many places */
};

/* A bit that no address has. The other bits are the address of the block, or 0. */
#define BEING_WRITTEN ((uint64_t)1 << 63)

/* 32 bytes. The fields after the address are atomic because late readers may read them; they detect
 * that. */
struct known_place {
    _Atomic uint64_t address; /* 0: empty */
    _Atomic size_t size_bytes;
    _Atomic uint32_t slack_bytes; /* NO_USABLE: unknown */
    _Atomic uint32_t group, thread, node;
};

#define NO_USABLE UINT32_MAX

static struct address_tables g_tables;
static _Atomic uint32_t g_n_tables;
static _Atomic uint64_t g_n_lost;

static struct known_place *bucket_of(unsigned table, uintptr_t address)
{
    struct known_place *places = address_tables_places(&g_tables, table);

    return places + address_tables_bucket(table, address);
}

static bool add_table(unsigned table)
{
    uint32_t expected = table;

    if (!address_tables_add(&g_tables, table, sizeof(struct known_place)))
        return false;
    atomic_compare_exchange_strong_explicit(&g_n_tables, &expected, table + 1, memory_order_acq_rel,
                                            memory_order_relaxed);
    return true;
}

static uint32_t count_tables(void)
{
    return atomic_load_explicit(&g_n_tables, memory_order_acquire);
}

/* KB-5 */
static bool is_worth_more(uint32_t n_tables)
{
    const struct known_place *places = address_tables_places(&g_tables, n_tables - 1);
    unsigned n_used = 0;

    for (unsigned i = 0; i < SAMPLE_PLACES; i++)
        n_used += atomic_load_explicit(&places[i].address, memory_order_relaxed) != 0;
    return n_used >= SAMPLE_PLACES / MIN_SHARE;
}

bool live_block_index_begin(void)
{
    return count_tables() > 0 || add_table(0);
}

/* KB-1: takes an empty place. */
static struct known_place *claim(struct known_place *bucket, uintptr_t address)
{
    for (unsigned i = 0; i < ADDRESS_TABLES_PLACES; i++) {
        uint64_t empty = 0;
        if (atomic_load_explicit(&bucket[i].address, memory_order_relaxed) == 0
            && atomic_compare_exchange_strong_explicit(&bucket[i].address, &empty,
                                                       address | BEING_WRITTEN,
                                                       memory_order_acquire, memory_order_relaxed))
            return &bucket[i];
    }
    return NULL;
}

static struct known_place *claim_any(uintptr_t address)
{
    struct known_place *place = NULL;
    uint32_t n;

    do {
        n = count_tables();
        for (uint32_t table = n; !place && table-- > 0;)
            place = claim(bucket_of(table, address), address);
    } while (!place && is_worth_more(n) && add_table(n));
    return place;
}

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

static uint32_t slack_of(const struct known_block *known)
{
    size_t slack_bytes = known->usable_bytes - known->size_bytes;

    return slack_bytes < NO_USABLE ? (uint32_t)slack_bytes : NO_USABLE;
}

static void count_lost(void)
{
    atomic_fetch_add_explicit(&g_n_lost, 1, memory_order_relaxed);
}

static void fill(struct known_place *place, const struct known_block *known)
{
    /* a reader that sees a new field also sees that the old block is gone: live_block_index_find */
    atomic_thread_fence(memory_order_release);
    STORE(place->size_bytes, known->size_bytes);
    STORE(place->slack_bytes, slack_of(known));
    STORE(place->group, known->group);
    STORE(place->thread, known->thread);
    STORE(place->node, known->node);
}

/* The place of the address, also if it is marked with one of these bits. */
static inline struct known_place *find_with(uintptr_t address, uint64_t bits)
{
    for (uint32_t table = count_tables(); table-- > 0;) {
        struct known_place *bucket = bucket_of(table, address);
        for (unsigned i = 0; i < ADDRESS_TABLES_PLACES; i++)
            if ((atomic_load_explicit(&bucket[i].address, memory_order_acquire) & ~bits) == address)
                return &bucket[i];
    }
    return NULL;
}

static struct known_place *find(uintptr_t address)
{
    return find_with(address, 0);
}

/* KB-3. By KB-2 no other thread is writing a place for this address. */
void live_block_index_put(const void *block, const struct known_block *known)
{
    struct known_place *old = find_with((uintptr_t)block, BEING_WRITTEN);
    struct known_place *place = old ? old : claim_any((uintptr_t)block);

    if (!place || atomic_load_explicit(&place->address, memory_order_relaxed) == (uintptr_t)block)
        count_lost();
    if (!place)
        return;
    fill(place, known);
    atomic_store_explicit(&place->address, (uintptr_t)block, memory_order_release);
}

static bool is_address(uintptr_t address)
{
    return address != 0 && !(address & BEING_WRITTEN);
}

struct known_block live_block_index_held(const struct known_place *place)
{
    uint32_t slack_bytes = LOAD(place->slack_bytes);
    size_t size_bytes = LOAD(place->size_bytes);

    return (struct known_block){
        .size_bytes = size_bytes,
        .usable_bytes = slack_bytes == NO_USABLE ? 0 : size_bytes + slack_bytes,
        .group = LOAD(place->group),
        .thread = LOAD(place->thread),
        .node = LOAD(place->node),
    };
}

/* If two threads free the same block, one gets the place. */
static struct known_place *hold(uintptr_t address, uint64_t shown)
{
    struct known_place *place = is_address(address) ? find(address) : NULL;
    uint64_t expected = address;

    return place
                   && atomic_compare_exchange_strong_explicit(&place->address, &expected, shown,
                                                              memory_order_acq_rel,
                                                              memory_order_relaxed)
               ? place
               : NULL;
}

/* While the place is held, the address may become that of another block, which gets another
 * place. */
struct known_place *live_block_index_hold(const void *block)
{
    return hold((uintptr_t)block, BEING_WRITTEN);
}

void live_block_index_let_go(struct known_place *place)
{
    atomic_store_explicit(&place->address, 0, memory_order_release);
}

void live_block_index_give_back(struct known_place *place, const void *block)
{
    atomic_store_explicit(&place->address, (uintptr_t)block, memory_order_release);
}

bool live_block_index_take(const void *block, struct known_block *ret)
{
    struct known_place *place = hold((uintptr_t)block, (uintptr_t)block | BEING_WRITTEN);

    if (!place)
        return false;
    *ret = live_block_index_held(place);
    live_block_index_let_go(place);
    return true;
}

bool live_block_index_find(const void *block, struct known_block *ret)
{
    uintptr_t address = (uintptr_t)block;
    struct known_place *place = is_address(address) ? find(address) : NULL;

    if (!place)
        return false;
    *ret = live_block_index_held(place);
    atomic_thread_fence(memory_order_acquire);
    return LOAD(place->address) == address; /* else the block was freed during the read */
}

/* If two threads move one block, the second one sees the group that the first one set. */
bool live_block_index_move(const void *block, uint32_t group, struct known_block *ret)
{
    struct known_place *place = is_address((uintptr_t)block) ? find((uintptr_t)block) : NULL;

    if (!place)
        return false;
    *ret = live_block_index_held(place);
    ret->group = atomic_exchange_explicit(&place->group, group, memory_order_relaxed);
    return true;
}

/* A place that is being written belongs to its writer, or was abandoned. */
static void forget_place(struct known_place *place)
{
    uint64_t address = atomic_load_explicit(&place->address, memory_order_relaxed);

    if (address != 0 && is_address(address)
        && atomic_compare_exchange_strong_explicit(&place->address, &address, 0,
                                                   memory_order_acq_rel, memory_order_relaxed))
        count_lost();
}

void live_block_index_forget_all(void)
{
    uint32_t n_tables = count_tables();
    size_t n = SAMPLE_PLACES;

    for (uint32_t table = 0; table < n_tables; table++, n *= 2) {
        struct known_place *places = address_tables_places(&g_tables, table);
        for (size_t i = 0; i < n; i++)
            forget_place(&places[i]);
    }
}

uint64_t live_block_index_count_lost(void)
{
    return atomic_load_explicit(&g_n_lost, memory_order_relaxed);
}
