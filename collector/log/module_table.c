/* SPDX-License-Identifier: MIT */
#include "collector/log/module_table.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum {
    KEPT_SLOTS = 256, /* slots used before an ended one is reused: its module may be opened again */
    N_WORDS = sizeof(struct module_identity) / sizeof(uintptr_t),
    KIND_BITS = 2,
};

enum kind {
    KIND_UNUSED,
    KIND_BUSY,
    KIND_READY,
    KIND_ENDED,
};

/* state: the kind in the low bits, and a count of changes. If the state is equal before and after
 * reading the words, they belong to one module. A compare-and-swap of the state changes only the
 * state that was read. */
struct module_slot {
    _Atomic uint32_t state;
    _Atomic uint32_t id;
    _Atomic uint64_t file;
    _Atomic uint32_t n_returns;
    _Atomic uintptr_t words[N_WORDS];
};

_Static_assert(offsetof(struct module_identity, start) == 0, "words[0] is the start");

static struct module_slot g_slots[MODULE_TABLE_SLOTS];
static _Atomic uint32_t
    g_n_slots; /* slots ever used; may exceed the number of slots for a moment */
static _Atomic uint32_t g_last_id;
static _Atomic uint32_t g_next_ended; /* where the search for an ended slot begins */

static uint32_t n_slots(void)
{
    uint32_t n = atomic_load_explicit(&g_n_slots, memory_order_acquire);

    return n < MODULE_TABLE_SLOTS ? n : MODULE_TABLE_SLOTS;
}

static enum kind kind_of(uint32_t state)
{
    return (enum kind)(state & ((1 << KIND_BITS) - 1));
}

static uint32_t next_state(uint32_t state, enum kind kind)
{
    return ((state >> KIND_BITS) + 1) << KIND_BITS | kind;
}

/* Acquire: the words of a slot that was ended or ready are not written before it is ours. */
static bool change(struct module_slot *slot, uint32_t state, enum kind kind)
{
    return atomic_compare_exchange_strong_explicit(&slot->state, &state, next_state(state, kind),
                                                   memory_order_acq_rel, memory_order_relaxed);
}

static struct module_identity read_words(const struct module_slot *slot)
{
    uintptr_t words[N_WORDS];
    struct module_identity identity;

    for (unsigned i = 0; i < N_WORDS; i++)
        words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
    memcpy(&identity, words, sizeof(identity));
    return identity;
}

/* True if the addresses are equal. Most other slots differ in the first word. */
static bool is_at(const struct module_slot *slot, const struct module_identity *identity)
{
    struct module_identity own;

    if (atomic_load_explicit(&slot->words[0], memory_order_relaxed) != identity->start)
        return false;
    own = read_words(slot);
    return own.end == identity->end && own.dynamic == identity->dynamic
           && own.eh_frame == identity->eh_frame;
}

static bool is_it(const struct module_slot *slot, const struct module_identity *identity)
{
    return is_at(slot, identity) && read_words(slot).link_map == identity->link_map;
}

/* True if what was read since `state` belongs to it. */
static bool is_still(const struct module_slot *slot, uint32_t state)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->state, memory_order_relaxed) == state;
}

uint32_t module_table_find(const struct module_identity *identity)
{
    for (uint32_t i = n_slots(); i-- > 0;) {
        const struct module_slot *slot = &g_slots[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        uint32_t id = atomic_load_explicit(&slot->id, memory_order_relaxed);
        if (kind_of(state) == KIND_READY && is_it(slot, identity) && is_still(slot, state))
            return id;
    }
    return 0;
}

static struct module_slot *take_unused(void)
{
    uint32_t index = atomic_fetch_add_explicit(&g_n_slots, 1, memory_order_acq_rel);

    if (index < MODULE_TABLE_SLOTS)
        return change(&g_slots[index], KIND_UNUSED, KIND_BUSY) ? &g_slots[index] : NULL;
    atomic_store_explicit(&g_n_slots, MODULE_TABLE_SLOTS, memory_order_relaxed);
    return NULL;
}

static struct module_slot *take_ended(void)
{
    uint32_t n = n_slots();
    uint32_t first = atomic_fetch_add_explicit(&g_next_ended, 1, memory_order_relaxed);

    for (uint32_t i = 0; i < n; i++) {
        struct module_slot *slot = &g_slots[(first + i) % n];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (kind_of(state) == KIND_ENDED && change(slot, state, KIND_BUSY))
            return slot;
    }
    return NULL;
}

static void put_words(struct module_slot *slot, const struct module_identity *identity)
{
    uintptr_t words[N_WORDS];

    memcpy(words, identity, sizeof(words));
    atomic_thread_fence(
        memory_order_release); /* a reader that sees a word sees the slot busy: is_still */
    for (unsigned i = 0; i < N_WORDS; i++)
        atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
}

/* A library that is opened and closed again and again keeps its id, wherever ld.so puts its link
 * map. */
static struct module_slot *revive(const struct module_identity *identity, uint64_t file)
{
    for (uint32_t i = 0, n = n_slots(); file != 0 && i < n; i++) {
        struct module_slot *slot = &g_slots[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (kind_of(state) == KIND_ENDED
            && atomic_load_explicit(&slot->file, memory_order_relaxed) == file
            && is_at(slot, identity) && change(slot, state, KIND_BUSY)) {
            put_words(slot, identity);
            atomic_fetch_add_explicit(&slot->n_returns, 1, memory_order_relaxed);
            return slot;
        }
    }
    return NULL;
}

static void fill(struct module_slot *slot, const struct module_identity *identity, uint64_t file)
{
    put_words(slot, identity);
    atomic_store_explicit(&slot->file, file, memory_order_relaxed);
    atomic_store_explicit(&slot->n_returns, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->id,
                          atomic_fetch_add_explicit(&g_last_id, 1, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

struct module_slot *module_table_claim(const struct module_identity *identity, uint64_t file)
{
    struct module_slot *slot = revive(identity, file);

    if (slot)
        return slot;
    if (n_slots() >= KEPT_SLOTS)
        slot = take_ended();
    if (!slot)
        slot = take_unused();
    if (slot)
        fill(slot, identity, file);
    return slot;
}

uint32_t module_table_id(const struct module_slot *slot)
{
    return atomic_load_explicit(&slot->id, memory_order_relaxed);
}

bool module_table_is_settled(const struct module_slot *slot)
{
    return atomic_load_explicit(&slot->n_returns, memory_order_relaxed) > MODULE_TABLE_REPORTED;
}

/* Release: a thread that sees the slot ready sees its words. */
void module_table_publish(struct module_slot *slot, bool is_defined)
{
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

    if (!is_defined)
        atomic_store_explicit(&slot->file, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->state, next_state(state, is_defined ? KIND_READY : KIND_ENDED),
                          memory_order_release);
}

bool module_table_end(bool (*is_there)(const struct module_identity *identity),
                      void (*ended)(uint32_t id))
{
    bool is_any_unloaded = false;

    for (uint32_t i = 0, n = n_slots(); i < n; i++) {
        struct module_slot *slot = &g_slots[i];
        uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        uint32_t id = module_table_id(slot);
        bool is_reported =
            atomic_load_explicit(&slot->n_returns, memory_order_relaxed) < MODULE_TABLE_REPORTED;
        struct module_identity identity = read_words(slot);
        if (kind_of(state) != KIND_READY || !is_still(slot, state) || is_there(&identity))
            continue;
        is_any_unloaded = true;
        if (change(slot, state, KIND_ENDED) && is_reported)
            ended(id);
    }
    return is_any_unloaded;
}

void module_table_forget(void)
{
    for (uint32_t i = 0, n = n_slots(); i < n; i++)
        atomic_store_explicit(&g_slots[i].state, KIND_UNUSED, memory_order_relaxed);
    atomic_store_explicit(&g_n_slots, 0, memory_order_relaxed);
    atomic_store_explicit(&g_last_id, 0, memory_order_relaxed);
}
