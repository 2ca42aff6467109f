/* SPDX-License-Identifier: MIT */
#include "collector/stack_tree.h"

#include "collector/memory.h"
#include "collector/segment.h"
#include "collector/sys.h"
#include "common/attr.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/*
 * The table beside the log: open addressing, linear probing, entries of 8 bytes (hash high half,
 * node id low half; 0 = empty), never removed. At 3/4 full a table of twice the size takes over:
 * with the 16-byte slot of the log that is at most 16 + 8 / (3/8) + 8 / (3/4) / 2 < 48 bytes per
 * node, and the retired table gives its pages back.
 */
struct table {
    uint32_t mask;      /* capacity - 1 */
    _Atomic uint32_t n; /* entries */
    _Atomic uint64_t entries[];
};

enum {
    FIRST_CAPACITY = 1 << 12,
    MOST_CAPACITY = 1 << 30,
    MOST_NODE_SEGMENTS = 1 << 16, /* 4 GiB of nodes */
};

static _Atomic(struct table *) g_table;
static _Atomic bool g_is_growing;
static _Atomic(struct log_segment *) g_node_segments[MOST_NODE_SEGMENTS];

void stack_tree_forget(void)
{
    atomic_store_explicit(&g_table, NULL, memory_order_relaxed);
    atomic_store_explicit(&g_is_growing, false, memory_order_relaxed);
    for (size_t i = 0; i < MOST_NODE_SEGMENTS && atomic_load(&g_node_segments[i]); i++)
        atomic_store_explicit(&g_node_segments[i], NULL, memory_order_relaxed);
}

/* ---- nodes in the log --------------------------------------------------------------------------
 */

static struct log_node *slot_of(uint32_t id)
{
    struct log_segment *segment =
        atomic_load_explicit(&g_node_segments[id / LOG_NODES_PER_SEGMENT], memory_order_acquire);

    if (!segment)
        return NULL;
    return (struct log_node *)(void *)segment_payload(segment) + id % LOG_NODES_PER_SEGMENT;
}

/* The segment of nodes ordinal * LOG_NODES_PER_SEGMENT and up is there afterwards, or false. */
static MTRACE_COLD bool make_segment_slow(uint32_t ordinal)
{
    struct log_segment *none = NULL;
    struct log_segment *fresh = segment_take(LOG_SEGMENT_NODES);

    if (!fresh)
        return false;
    fresh->first_node = ordinal * LOG_NODES_PER_SEGMENT;
    if (!atomic_compare_exchange_strong_explicit(&g_node_segments[ordinal], &none, fresh,
                                                 memory_order_acq_rel, memory_order_acquire))
        segment_give_back(fresh);
    return true;
}

static bool has_room_for(uint32_t id)
{
    uint32_t ordinal = id / LOG_NODES_PER_SEGMENT;

    if (ordinal >= MOST_NODE_SEGMENTS)
        return false;
    return atomic_load_explicit(&g_node_segments[ordinal], memory_order_acquire)
           || make_segment_slow(ordinal);
}

/* A new id with its slot, or LOG_NODE_NONE. Ids are not used up while there is no room. */
static uint32_t new_id(void)
{
    struct log_file *log = segment_log();
    uint32_t id;

    if (!log || !has_room_for(atomic_load_explicit(&log->n_nodes, memory_order_relaxed)))
        return LOG_NODE_NONE;
    id = atomic_fetch_add_explicit(&log->n_nodes, 1, memory_order_relaxed);
    return has_room_for(id) ? id : LOG_NODE_NONE;
}

/* ST-1: the slot is whole before its address, and its address before the id leaves. */
static uint32_t write_node(uint32_t parent, uint64_t address, uint32_t module)
{
    uint32_t id = new_id();
    struct log_node *slot;

    if (id == LOG_NODE_NONE)
        return id;
    slot = slot_of(id);
    if (!slot)
        return LOG_NODE_NONE;
    slot->parent = parent;
    slot->module = module;
    atomic_store_explicit(&slot->address, address, memory_order_release);
    return id;
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static uint64_t hash_of(uint32_t parent, uint64_t address, uint32_t module)
{
    uint64_t hash = address * 0x9e3779b97f4a7c15u;

    hash ^= ((uint64_t)parent << 32 | module) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static size_t table_bytes(uint32_t capacity)
{
    return sizeof(struct table) + (size_t)capacity * sizeof(uint64_t);
}

static struct table *table_new(uint32_t capacity)
{
    struct table *table = memory_map(table_bytes(capacity));

    if (table)
        table->mask = capacity - 1;
    return table;
}

/* Used by one thread only, on a table that no one else sees yet. */
static void copy_entry(struct table *to, uint64_t entry)
{
    uint32_t at = (uint32_t)(entry >> 32) & to->mask;

    while (atomic_load_explicit(&to->entries[at], memory_order_relaxed))
        at = (at + 1) & to->mask;
    atomic_store_explicit(&to->entries[at], entry, memory_order_relaxed);
    atomic_fetch_add_explicit(&to->n, 1, memory_order_relaxed);
}

/*
 * One thread copies, the others go on with the old table. What they add to it behind the copier's
 * back is lost with it, and gets a second id when it is met again (ST-2 allows that).
 */
static MTRACE_COLD void grow_slow(struct table *old)
{
    uint32_t capacity = old->mask + 1;
    struct table *bigger;

    if (capacity >= MOST_CAPACITY
        || atomic_exchange_explicit(&g_is_growing, true, memory_order_acquire))
        return;
    if (atomic_load_explicit(&g_table, memory_order_acquire) == old
        && (bigger = table_new(capacity * 2))) {
        for (uint32_t i = 0; i < capacity; i++) {
            uint64_t entry = atomic_load_explicit(&old->entries[i], memory_order_relaxed);
            if (entry)
                copy_entry(bigger, entry);
        }
        atomic_store_explicit(&g_table, bigger, memory_order_release);
        /* Readers still in the old table find zeros, which means absent. */
        sys_advise((unsigned char *)old + 4096, table_bytes(capacity) - 4096, MADV_DONTNEED);
    }
    atomic_store_explicit(&g_is_growing, false, memory_order_release);
}

static struct table *first_table(void)
{
    struct table *none = NULL;
    struct table *table = table_new(FIRST_CAPACITY);

    if (table
        && !atomic_compare_exchange_strong_explicit(&g_table, &none, table, memory_order_acq_rel,
                                                    memory_order_acquire)) {
        memory_unmap(table, table_bytes(FIRST_CAPACITY));
        return none;
    }
    return table;
}

static bool is_node(uint32_t id, uint32_t parent, uint64_t address, uint32_t module)
{
    const struct log_node *slot = slot_of(id);

    return slot && atomic_load_explicit(&slot->address, memory_order_relaxed) == address
           && slot->parent == parent && slot->module == module;
}

static bool is_crowded(const struct table *table)
{
    return atomic_load_explicit(&table->n, memory_order_relaxed) > (table->mask + 1) / 4 * 3;
}

uint32_t stack_tree_child(uint32_t parent, uintptr_t code_address, uint32_t module, bool is_exact)
{
    uint64_t address = code_address | (is_exact ? LOG_NODE_EXACT : 0);
    struct table *table = atomic_load_explicit(&g_table, memory_order_acquire);
    uint64_t hash = hash_of(parent, address, module);
    uint32_t own = LOG_NODE_NONE;

    if (mtrace_unlikely(!table) && !(table = first_table()))
        return LOG_NODE_NONE;
    for (uint32_t i = 0, at = (uint32_t)(hash >> 32) & table->mask; i <= table->mask;
         i++, at = (at + 1) & table->mask) {
        /* Acquire: pairs with the CAS below, so that the slot behind the id is readable. */
        uint64_t entry = atomic_load_explicit(&table->entries[at], memory_order_acquire);
        if (!entry) {
            if (!own && !(own = write_node(parent, address, module)))
                return LOG_NODE_NONE;
            if (atomic_compare_exchange_strong_explicit(
                    &table->entries[at], &entry, hash >> 32 << 32 | own, memory_order_acq_rel,
                    memory_order_acquire)) {
                atomic_fetch_add_explicit(&table->n, 1, memory_order_relaxed);
                if (mtrace_unlikely(is_crowded(table)))
                    grow_slow(table);
                return own;
            }
        }
        if (entry >> 32 == hash >> 32 && is_node((uint32_t)entry, parent, address, module))
            return (uint32_t)entry;
    }
    return own ? own : write_node(parent, address, module);
}
