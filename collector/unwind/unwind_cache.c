/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_cache.h"

#include "collector/arch/arch.h"
#include "collector/os/memory.h"
#include "collector/os/sys.h"

#include <sys/mman.h>

enum {
    FIRST_LINES = 1 << 10, /* 64 KiB */
    MAX_LINES = 1 << 15,   /* 2 MiB */
    LINE_BYTES = UNWIND_CACHE_WAYS * sizeof(struct unwind_cache_entry),
};

_Atomic(struct unwind_cache *) g_unwind_cache;
_Atomic uint32_t g_unwind_cache_epochs[UNWIND_CACHE_MODULES];
static _Atomic uint32_t
    g_last_module; /* the highest id confirmed: most of the array is untouched */
static _Atomic bool g_is_growing;

static size_t cache_bytes(uint32_t n_lines)
{
    return sizeof(struct unwind_cache) + (size_t)n_lines * LINE_BYTES;
}

static struct unwind_cache *cache_new(uint32_t n_lines)
{
    struct unwind_cache *cache = memory_map(cache_bytes(n_lines));

    if (cache != NULL) {
        cache->n_lines = n_lines;
        cache->hash_shift = 64 - (unsigned)__builtin_ctz(n_lines);
    }
    return cache;
}

void unwind_cache_init(void)
{
    uint32_t last = atomic_load_explicit(&g_last_module, memory_order_relaxed);

    for (size_t i = 0; i <= last; i++)
        atomic_store_explicit(&g_unwind_cache_epochs[i], 0, memory_order_relaxed);
    atomic_store_explicit(&g_is_growing, false, memory_order_relaxed);
    /* release: pairs with the acquire of every reader */
    atomic_store_explicit(&g_unwind_cache, cache_new(FIRST_LINES), memory_order_release);
}

/* ---- writing ---- */

/* False: the rule does not fit into a word. */
static bool pack(uint32_t epoch, const struct unwind_rule *rule, uint64_t *ret_word)
{
    uint64_t word =
        (uint64_t)rule->kind << 16 | (uint64_t)rule->fp_kind << 19 | (uint64_t)rule->module << 21;

    if (rule->module == 0) {
        *ret_word = word | (epoch & 0xffff) | (uint64_t)(epoch >> 16) << 40;
        return rule->kind == UNWIND_RULE_GUESS;
    }
    *ret_word = word | (uint16_t)rule->fp_offset | (uint64_t)(int64_t)rule->cfa_offset << 40;
    return rule->module < UNWIND_CACHE_MODULES
           && rule->cfa_offset < 1 << (UNWIND_CACHE_CFA_BITS - 1)
           && rule->cfa_offset >= -(1 << (UNWIND_CACHE_CFA_BITS - 1));
}

static void write_entry(struct unwind_cache_entry *entry, uintptr_t address, uint64_t word)
{
    uint64_t key = atomic_load_explicit(&entry->key, memory_order_relaxed);
    uint64_t sequence = (key + 2) & 0xfffe;

    /* acquire: this writer's word comes after that of the one before (its release below) */
    if ((key & 1)
        || !atomic_compare_exchange_strong_explicit(&entry->key, &key, key | 1,
                                                    memory_order_acquire, memory_order_relaxed))
        return;
    /* a reader that sees the word below also sees the odd key (its acquire fence) */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&entry->word, word, memory_order_relaxed);
    atomic_store_explicit(&entry->key, (uint64_t)address << 16 | sequence, memory_order_release);
}

/*
 * The entry to overwrite: that of this address, an empty one, or else the first. Not one that is
 * being written: if its writer left by siglongjmp, it never finishes.
 */
static struct unwind_cache_entry *choose_entry(struct unwind_cache *cache, uintptr_t address)
{
    size_t index = unwind_cache_index(cache, address);
    struct unwind_cache_entry *first = NULL;

    for (size_t way = 0; way < (size_t)2 * UNWIND_CACHE_WAYS; way++) {
        struct unwind_cache_entry *entry = &cache->entries[index ^ way];
        uint64_t key = atomic_load_explicit(&entry->key, memory_order_relaxed);
        if (key & 1)
            continue;
        if (key == 0 || key >> 16 == address)
            return entry;
        if (first == NULL)
            first = entry;
    }
    atomic_fetch_add_explicit(&cache->n_evicted, 1, memory_order_relaxed);
    return first != NULL ? first : &cache->entries[index];
}

static void copy_entries(struct unwind_cache *to, const struct unwind_cache *from)
{
    for (size_t i = 0; i < (size_t)from->n_lines * UNWIND_CACHE_WAYS; i++) {
        uintptr_t address =
            (uintptr_t)(atomic_load_explicit(&from->entries[i].key, memory_order_relaxed) >> 16);
        uint64_t word;
        if (address != 0 && unwind_cache_read(&from->entries[i], address, &word))
            write_entry(choose_entry(to, address), address, word);
    }
}

/* Keeps its head: other threads still read its size. */
static void forget_all_but_head(struct unwind_cache *old)
{
    const size_t head_bytes = sys_page_bytes();

    if (cache_bytes(old->n_lines) > head_bytes)
        sys_advise((unsigned char *)old + head_bytes, cache_bytes(old->n_lines) - head_bytes,
                   MADV_DONTNEED);
}

/*
 * With signals blocked: a handler that left by siglongjmp would stop all growth for ever. Rules
 * that other threads add to the old cache during the copy are made again when missed. Readers of
 * the old cache find zeros, which mean absent.
 */
static void grow_unblocked(struct unwind_cache *old)
{
    struct unwind_cache *larger;

    if (old->n_lines >= MAX_LINES
        || atomic_exchange_explicit(&g_is_growing, true, memory_order_acquire))
        return;
    if (atomic_load_explicit(&g_unwind_cache, memory_order_acquire) == old
        && (larger = cache_new(old->n_lines * 2)) != NULL) {
        copy_entries(larger, old);
        atomic_store_explicit(&larger->n_evicted, 0, memory_order_relaxed);
        atomic_store_explicit(&g_unwind_cache, larger, memory_order_release);
        forget_all_but_head(old);
    }
    atomic_store_explicit(&g_is_growing, false, memory_order_release);
}

static void grow(struct unwind_cache *old)
{
    struct sys_signals mask;
    bool is_blocked = sys_block_signals(&mask) >= 0;

    grow_unblocked(old);
    if (is_blocked)
        sys_unblock_signals(mask);
}

void unwind_cache_put(uintptr_t address, uint32_t epoch, const struct unwind_rule *rule)
{
    struct unwind_cache *cache = atomic_load_explicit(&g_unwind_cache, memory_order_acquire);
    uint64_t word;

    if (cache == NULL || (uint64_t)address >> 48 != 0 || !pack(epoch, rule, &word))
        return;
    unwind_cache_confirm(rule->module, epoch);
    write_entry(choose_entry(cache, address), address, word);
    if (atomic_load_explicit(&cache->n_evicted, memory_order_relaxed) > cache->n_lines / 4)
        grow(cache);
}

/* ---- rules of former epochs ---- */

bool unwind_cache_find_former(uintptr_t address, struct unwind_rule *ret_rule)
{
    const struct unwind_cache *cache = atomic_load_explicit(&g_unwind_cache, memory_order_acquire);
    size_t index;
    uint64_t word;

    if (cache == NULL)
        return false;
    index = unwind_cache_index(cache, address);
    for (size_t way = 0; way < (size_t)2 * UNWIND_CACHE_WAYS; way++)
        if (unwind_cache_read(&cache->entries[index ^ way], address, &word)) {
            *ret_rule = unwind_cache_unpack(word);
            return ret_rule->module != 0;
        }
    return false;
}

void unwind_cache_confirm(uint32_t module, uint32_t epoch)
{
    uint32_t last = atomic_load_explicit(&g_last_module, memory_order_relaxed);

    while (last < module
           && !atomic_compare_exchange_weak_explicit(&g_last_module, &last, module,
                                                     memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_store_explicit(&g_unwind_cache_epochs[module], epoch, memory_order_relaxed);
}
