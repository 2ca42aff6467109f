/* SPDX-License-Identifier: MIT */
/*
 * unwind_cache: all rules made so far, by code address, for all threads.
 *
 * Entries have 16 bytes, four per cache line, and are found without a lock. Nearby addresses share
 * a line. A crowded cache is replaced by a larger one.
 *
 * Invariants
 *   UC-1 A rule that is found was made, or its module was found unchanged, in the requested epoch.
 *   UC-2 No lock and no wait: an entry being written counts as absent; after a lost race a rule is
 *        not cached.
 *
 * Any thread. Async-signal-safe. On failure a rule is not cached.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_CACHE_H
#define MTRACE_COLLECTOR_UNWIND_CACHE_H

#include "collector/unwind/unwind_rule.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNWIND_CACHE_WAYS = 4,          /* entries of a line */
    UNWIND_CACHE_CODE_BITS = 6,     /* addresses that differ only in these share a line */
    UNWIND_CACHE_MODULES = 1 << 19, /* rules of modules with higher ids are not cached */
    UNWIND_CACHE_CFA_BITS = 24,     /* of cfa_offset, signed; larger frames are not cached */
};

/*
 * key: the address in the high 48 bits, then a sequence number; bit 0: being written. 0: empty.
 * word: the rule, or the epoch of code without a module (unwind_cache_unpack). A reader reads key,
 * word, and key again.
 */
struct unwind_cache_entry {
    _Atomic uint64_t key;
    _Atomic uint64_t word;
};

/* An address has two lines: its own and the neighbour. */
struct unwind_cache {
    uint32_t n_lines;
    unsigned hash_shift; /* 64 - log2(n_lines) */
    _Atomic uint32_t n_evicted;
    _Alignas(64) struct unwind_cache_entry entries[];
};

extern MTRACE_HIDDEN _Atomic(struct unwind_cache *) g_unwind_cache; /* NULL: no memory */

/* The last epoch in which a module was found unchanged; its rules hold in that epoch. */
extern MTRACE_HIDDEN _Atomic uint32_t g_unwind_cache_epochs[UNWIND_CACHE_MODULES];

/* Makes an empty cache. Called again in a fork child, where the old one is not mapped. */
void unwind_cache_init(void);

/* Caches a rule made in an epoch in which its module was found. */
void unwind_cache_put(uintptr_t address, uint32_t epoch, const struct unwind_rule *rule);

/* The rule of an address in a module, from any earlier epoch; false if there is none. */
bool unwind_cache_find_former(uintptr_t address, struct unwind_rule *ret_rule);

/* A module with earlier rules was found unchanged in this epoch. */
void unwind_cache_confirm(uint32_t module, uint32_t epoch);

/* The entry to check first; the others are at index ^ 1 … index ^ 7. */
static inline size_t unwind_cache_index(const struct unwind_cache *cache, uintptr_t address)
{
    uint64_t hash = (address >> UNWIND_CACHE_CODE_BITS) * 0x9e3779b97f4a7c15ull;

    return (size_t)(hash >> cache->hash_shift) * UNWIND_CACHE_WAYS
           + ((address ^ address >> 2) & (UNWIND_CACHE_WAYS - 1));
}

/* Prefetches the line of an address that will soon be looked up. */
static inline void unwind_cache_prefetch(uintptr_t address)
{
    const struct unwind_cache *cache = atomic_load_explicit(&g_unwind_cache, memory_order_acquire);

    if (mtrace_likely(cache != NULL))
        __builtin_prefetch(&cache->entries[unwind_cache_index(cache, address)]);
}

static inline struct unwind_rule unwind_cache_unpack(uint64_t word)
{
    return (struct unwind_rule){.module = (uint32_t)(word >> 21) & (UNWIND_CACHE_MODULES - 1),
                                .cfa_offset = (int32_t)((int64_t)word >> 40),
                                .fp_offset = (int16_t)word,
                                .kind = (uint8_t)(word >> 16 & 7),
                                .fp_kind = (uint8_t)(word >> 19 & 3)};
}

/* For code without a module, whose rule is always UNWIND_RULE_GUESS. */
static inline uint32_t unwind_cache_unpack_epoch(uint64_t word)
{
    return (uint32_t)(word >> 40) << 16 | (word & 0xffff);
}

/* Reads an entry; false if it belongs to another address or is being written. An empty one is that
 * of address 0. */
static inline bool unwind_cache_read(const struct unwind_cache_entry *entry, uintptr_t address,
                                     uint64_t *ret_word)
{
    /* acquire: the word is no older than this key (release in the writer) */
    uint64_t key = atomic_load_explicit(&entry->key, memory_order_acquire);

    if (key >> 16 != address || (key & 1))
        return false;
    *ret_word = atomic_load_explicit(&entry->word, memory_order_relaxed);
    /* the load above happens before the second look at the key */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&entry->key, memory_order_relaxed) == key;
}

/* The rule of an address (a return address minus one, or an interrupted pc), if it is cached. */
static inline bool unwind_cache_find(uintptr_t address, uint32_t epoch,
                                     struct unwind_rule *ret_rule)
{
    /* acquire: pairs with the release of the thread that made the cache */
    const struct unwind_cache *cache = atomic_load_explicit(&g_unwind_cache, memory_order_acquire);
    uint64_t word;
    size_t index;

    if (mtrace_unlikely(cache == NULL))
        return false;
    index = unwind_cache_index(cache, address);
    for (size_t way = 0; way < (size_t)2 * UNWIND_CACHE_WAYS; way++) {
        if (!unwind_cache_read(&cache->entries[index ^ way], address, &word))
            continue;
        *ret_rule = unwind_cache_unpack(word);
        if (mtrace_unlikely(ret_rule->module == 0)) {
            *ret_rule = (struct unwind_rule){.kind = UNWIND_RULE_GUESS};
            return word != 0 && unwind_cache_unpack_epoch(word) == epoch;
        }
        return atomic_load_explicit(&g_unwind_cache_epochs[ret_rule->module], memory_order_relaxed)
               == epoch;
    }
    return false;
}

#endif
