/* SPDX-License-Identifier: MIT */
#include "collector/log/stack_tree.h"

#include "collector/log/segment.h"
#include "collector/os/memory.h"
#include "collector/os/sys.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/*
 * The table beside the log. Entries have 8 bytes (hash in the high half, node id in the low half; 0
 * = empty) and are never removed. The children of a parent share a cache line chosen by the parent,
 * for locality. When that line is full, the table is open addressing with linear probing from the
 * hash. A node right after its parent is in no table. At 3/4 full, a table of twice the size
 * replaces it. With the 16-byte slot of the log that is at most 16 + 8 / (3/8) + 8 / (3/4) / 2 < 48
 * bytes per node. The old table gives its pages back.
 */
struct table {
    uint32_t mask;      /* capacity - 1 */
    _Atomic uint32_t n; /* entries */
    _Alignas(64) _Atomic uint64_t entries[];
};

enum {
    FIRST_CAPACITY = 1 << 12,
    MAX_CAPACITY = 1 << 30,
    MAX_NODE_SEGMENTS = 1 << 16, /* 4 GiB of nodes */
    HUGE_PAGE_BYTES = 1 << 21,
    LINE_ENTRIES = 64 / sizeof(uint64_t),
    LINE_PARENT_BITS = 2, /* parents that differ only in these bits share a line */
};

static _Atomic(struct table *) g_table;
static _Atomic bool g_is_growing;
static _Atomic(struct log_segment *) g_node_segments[MAX_NODE_SEGMENTS];

void stack_tree_forget(void)
{
    atomic_store_explicit(&g_table, NULL, memory_order_relaxed);
    atomic_store_explicit(&g_is_growing, false, memory_order_relaxed);
    for (size_t i = 0; i < MAX_NODE_SEGMENTS && atomic_load(&g_node_segments[i]); i++)
        atomic_store_explicit(&g_node_segments[i], NULL, memory_order_relaxed);
}

/* ---- nodes in the log ------------------------------------------------------------------------ */

static struct log_node *slot_of(uint32_t id)
{
    struct log_segment *segment =
        atomic_load_explicit(&g_node_segments[id / LOG_NODES_PER_SEGMENT], memory_order_acquire);

    if (!segment)
        return NULL;
    return (struct log_node *)(void *)segment_payload(segment) + id % LOG_NODES_PER_SEGMENT;
}

/* Creates the segment for the nodes from ordinal * LOG_NODES_PER_SEGMENT on. False: no space. */
static MTRACE_COLD bool make_segment_slow(uint32_t ordinal)
{
    struct log_segment *none = NULL;
    struct log_segment *fresh = segment_take_nodes(ordinal * LOG_NODES_PER_SEGMENT);

    if (!fresh)
        return false;
    if (!atomic_compare_exchange_strong_explicit(&g_node_segments[ordinal], &none, fresh,
                                                 memory_order_acq_rel, memory_order_acquire))
        segment_give_back(fresh);
    return true;
}

static bool has_room_for(uint32_t id)
{
    uint32_t ordinal = id / LOG_NODES_PER_SEGMENT;

    if (ordinal >= MAX_NODE_SEGMENTS)
        return false;
    return atomic_load_explicit(&g_node_segments[ordinal], memory_order_acquire)
           || make_segment_slow(ordinal);
}

/* A new id with its slot, or LOG_NODE_NONE. Without space no ids are used up. */
static uint32_t new_id(void)
{
    struct log_header *log = segment_log();
    uint32_t id;

    if (!log || !has_room_for(atomic_load_explicit(&log->n_nodes, memory_order_relaxed)))
        return LOG_NODE_NONE;
    id = atomic_fetch_add_explicit(&log->n_nodes, 1, memory_order_relaxed);
    return has_room_for(id) ? id : LOG_NODE_NONE;
}

/* ST-1: the slot is complete before its address is stored, and that before the id is returned. */
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

/* ---- the table ------------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t parent, uint64_t address, uint32_t module)
{
    uint64_t hash = address * 0x9e3779b97f4a7c15u;

    hash ^= ((uint64_t)parent << 32 | module) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    return (uint32_t)(hash >> 32);
}

static size_t table_bytes(uint32_t capacity)
{
    return sizeof(struct table) + (size_t)capacity * sizeof(uint64_t);
}

static struct table *table_new(uint32_t capacity)
{
    struct table *table = memory_map(table_bytes(capacity));

    if (!table)
        return NULL;
    /* Accesses are spread over the table: with small pages most lookups would walk the page
     * tables. */
    if (table_bytes(capacity) >= HUGE_PAGE_BYTES)
        sys_advise(table, table_bytes(capacity), MADV_HUGEPAGE);
    table->mask = capacity - 1;
    return table;
}

/* Position of a search: first in the line of the parent, then from the hash onwards. */
struct probe {
    uint32_t at;
    uint32_t n_probed;
};

static struct probe first_probe(const struct table *table, uint32_t parent)
{
    return (struct probe){(parent >> LINE_PARENT_BITS) * LINE_ENTRIES & table->mask, 0};
}

static void next_probe(const struct table *table, struct probe *probe, uint32_t hash)
{
    probe->at =
        ++probe->n_probed == LINE_ENTRIES ? hash & table->mask : (probe->at + 1) & table->mask;
}

/* Only for a table that no other thread sees yet. */
static void copy_entry(struct table *to, uint64_t entry)
{
    const struct log_node *node = slot_of((uint32_t)entry);
    struct probe probe = first_probe(to, node ? node->parent : 0);

    while (atomic_load_explicit(&to->entries[probe.at], memory_order_relaxed))
        next_probe(to, &probe, (uint32_t)(entry >> 32));
    atomic_store_explicit(&to->entries[probe.at], entry, memory_order_relaxed);
    atomic_fetch_add_explicit(&to->n, 1, memory_order_relaxed);
}

/* With signals blocked: after a siglongjmp out of here, no thread could grow the table any more.
 * One thread copies while the others use the old table. Entries that they add after the copy passed
 * are lost and get a second id later (ST-2 allows that). */
static void grow_unblocked(struct table *old)
{
    uint32_t capacity = old->mask + 1;
    struct table *bigger;

    if (capacity >= MAX_CAPACITY
        || atomic_exchange_explicit(&g_is_growing, true, memory_order_acquire))
        return;
    if (atomic_load_explicit(&g_table, memory_order_acquire) == old
        && (bigger = table_new(capacity * 2))) {
        for (uint32_t i = 0; i < capacity; i++) {
            /* acquire: pairs with put_entry, as copy_entry reads the node */
            uint64_t entry = atomic_load_explicit(&old->entries[i], memory_order_acquire);
            if (entry)
                copy_entry(bigger, entry);
        }
        atomic_store_explicit(&g_table, bigger, memory_order_release);
        /* Readers of the old table find zeros, which means absent. */
        sys_advise((unsigned char *)old + 4096, table_bytes(capacity) - 4096, MADV_DONTNEED);
    }
    atomic_store_explicit(&g_is_growing, false, memory_order_release);
}

static MTRACE_COLD void grow_slow(struct table *old)
{
    struct sys_signals mask;
    bool is_blocked = sys_block_signals(&mask) >= 0;

    grow_unblocked(old);
    if (is_blocked)
        sys_unblock_signals(mask);
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

static inline bool is_node(uint32_t id, uint32_t parent, uint64_t address, uint32_t module)
{
    const struct log_node *slot = slot_of(id);

    /* Acquire: pairs with write_node, so that the rest of a slot with this address is there. */
    return slot && atomic_load_explicit(&slot->address, memory_order_acquire) == address
           && slot->parent == parent && slot->module == module;
}

static bool is_crowded(const struct table *table)
{
    return atomic_load_explicit(&table->n, memory_order_relaxed) > (table->mask + 1) / 4 * 3;
}

/* Puts an entry into an empty place. False: another thread was faster; its entry is in
 * *ret_entry. */
static bool put_entry(struct table *table, uint32_t at, uint64_t entry, uint64_t *ret_entry)
{
    if (!atomic_compare_exchange_strong_explicit(&table->entries[at], ret_entry, entry,
                                                 memory_order_acq_rel, memory_order_acquire))
        return false;
    atomic_fetch_add_explicit(&table->n, 1, memory_order_relaxed);
    if (mtrace_unlikely(is_crowded(table)))
        grow_slow(table);
    return true;
}

/* Finds or creates a node that is not right after its parent. own: its id if it was created
 * already. */
static MTRACE_NOINLINE uint32_t look_up(uint32_t parent, uint64_t address, uint32_t module,
                                        uint32_t own)
{
    struct table *table = atomic_load_explicit(&g_table, memory_order_acquire);
    uint32_t hash = hash_of(parent, address, module);
    struct probe probe;

    if (mtrace_unlikely(!table) && !(table = first_table()))
        return LOG_NODE_NONE;
    probe = first_probe(table, parent);
    while (probe.n_probed <= table->mask) {
        /* Acquire: pairs with the CAS above, so that the slot of the id is readable. */
        uint64_t entry = atomic_load_explicit(&table->entries[probe.at], memory_order_acquire);
        if (!entry) {
            if (!own && !(own = write_node(parent, address, module)))
                return LOG_NODE_NONE;
            if (put_entry(table, probe.at, (uint64_t)hash << 32 | own, &entry))
                return own;
        }
        if (entry >> 32 == hash && is_node((uint32_t)entry, parent, address, module))
            return (uint32_t)entry;
        next_probe(table, &probe, hash);
    }
    return own ? own : write_node(parent, address, module);
}

/* Children have greater ids than their parents, so the newest node has none yet. */
static bool is_last_node(uint32_t id)
{
    const struct log_header *log = segment_log();

    return log && atomic_load_explicit(&log->n_nodes, memory_order_relaxed) == id + 1;
}

uint32_t stack_tree_next(uint32_t parent, uintptr_t code_address, uint32_t module, bool is_exact)
{
    uint64_t address = code_address | (is_exact ? LOG_NODE_EXACT : 0);

    return is_node(parent + 1, parent, address, module) ? parent + 1 : LOG_NODE_NONE;
}

/* A node right after its parent is not in the table: stack_tree_next finds it. */
uint32_t stack_tree_search(uint32_t parent, uintptr_t code_address, uint32_t module, bool is_exact)
{
    uint64_t address = code_address | (is_exact ? LOG_NODE_EXACT : 0);
    uint32_t id = LOG_NODE_NONE;

    if (is_last_node(parent) && (id = write_node(parent, address, module)) == parent + 1)
        return id;
    return look_up(parent, address, module, id);
}
