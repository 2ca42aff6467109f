/* SPDX-License-Identifier: MIT */
/*
 * unwind_rule: what one code address needs to find its frame's caller, in 12 bytes.
 *
 * Model:   a rule is made once from the module's CFI and kept in one cache that all threads share.
 *          Stack pointer, frame pointer and pc are all it knows; rows that need more are
 *          UNWIND_RULE_FULL and go to the interpreter (unwind_full.h).
 * Invariants
 *   UR-1 A rule found in the cache was made, or its module found unchanged, in the epoch asked for.
 *   UR-2 No lock, no wait: an entry being written counts as absent, a lost race as not cached.
 * Threads: any, with a scratch each. Signals: safe. Failure: UNWIND_RULE_GUESS, as for code without
 * CFI.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_RULE_H
#define MTRACE_COLLECTOR_UNWIND_RULE_H

#include "collector/cfi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum unwind_rule_kind {
    UNWIND_RULE_SP,     /* CFA = SP + cfa_offset */
    UNWIND_RULE_FP,     /* CFA = FP + cfa_offset */
    UNWIND_RULE_DEREF,  /* CFA = *(FP + cfa_offset): the function realigned its stack */
    UNWIND_RULE_SIGNAL, /* SP, FP and pc at SP + cfa_offset, + fp_offset, and behind SP's word */
    UNWIND_RULE_END,    /* outermost frame: the return address is undefined */
    UNWIND_RULE_GUESS,  /* no CFI */
    UNWIND_RULE_FULL,   /* needs other registers or expressions */
};

enum unwind_fp_kind {
    UNWIND_FP_KEPT,
    UNWIND_FP_AT_CFA, /* saved at CFA + fp_offset */
    UNWIND_FP_AT_FP,  /* saved at FP + fp_offset */
};

struct unwind_rule {
    uint32_t module; /* LOG_DEF_MODULE id of the code, 0 if none */
    int32_t cfa_offset;
    int16_t fp_offset;
    uint8_t kind;    /* enum unwind_rule_kind */
    uint8_t fp_kind; /* enum unwind_fp_kind */
};

/* Working memory for making rules and rows; too large for the program's stack. */
struct unwind_rule_scratch {
    struct cfi_scratch cfi;
    struct cfi_row row;
    uint32_t section_module; /* whose section it is, 0: none yet */
    uint32_t section_epoch;
    struct cfi_section section;
};

/* Makes an empty cache. Called again in a fork child, where the old one is not mapped. */
void unwind_rule_init(void);

/*
 * The row of a code address into scratch->row, and the module's id (0: none). is_trusted: the
 * address is certainly on a stack, so its module cannot be unmapped meanwhile; else its CFI is read
 * through copies.
 */
enum cfi_result unwind_rule_find_row(uintptr_t address, uint32_t epoch, bool is_trusted,
                                     struct unwind_rule_scratch *scratch, uint32_t *ret_module);

/* The rule that a row amounts to. */
struct unwind_rule unwind_rule_of_row(const struct cfi_row *row, uint32_t module);

/* Makes the rule of an address that is not in the cache, and caches it. */
struct unwind_rule unwind_rule_make_slow(uintptr_t address, uint32_t epoch, bool is_trusted,
                                         struct unwind_rule_scratch *scratch);

/* ---- the cache, here because each frame of a walk looks into it ---- */

enum {
    UNWIND_RULE_CACHE_BITS = 16,
    UNWIND_RULE_CACHE_WAYS = 2
};

/* Written under an odd sequence; read twice (a sequence lock that nobody waits for). */
struct unwind_rule_entry {
    _Atomic uint32_t sequence;
    _Atomic uint32_t epoch;
    _Atomic uint64_t address; /* 0: empty */
    _Atomic uint64_t words[2];
};

extern struct unwind_rule_entry *g_unwind_rule_cache; /* NULL: no memory */

static inline struct unwind_rule_entry *unwind_rule_entry(uintptr_t address, unsigned way)
{
    uint64_t hash = address * 0x9e3779b97f4a7c15ull;

    return &g_unwind_rule_cache[(hash >> (64 - UNWIND_RULE_CACHE_BITS)) ^ way];
}

static inline struct unwind_rule unwind_rule_unpack(uint64_t word0, uint64_t word1)
{
    return (struct unwind_rule){.module = (uint32_t)word0,
                                .cfa_offset = (int32_t)(word0 >> 32),
                                .fp_offset = (int16_t)word1,
                                .kind = (uint8_t)(word1 >> 16),
                                .fp_kind = (uint8_t)(word1 >> 24)};
}

/* Reads an entry; false when it is another address's or being written. */
static inline bool unwind_rule_read(struct unwind_rule_entry *entry, uintptr_t address,
                                    uint32_t *ret_epoch, struct unwind_rule *ret_rule)
{
    /* acquire: the words below are no older than this sequence (release in the writer) */
    uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
    uint64_t key = atomic_load_explicit(&entry->address, memory_order_relaxed);
    uint64_t word0 = atomic_load_explicit(&entry->words[0], memory_order_relaxed);
    uint64_t word1 = atomic_load_explicit(&entry->words[1], memory_order_relaxed);

    *ret_epoch = atomic_load_explicit(&entry->epoch, memory_order_relaxed);
    /* the loads above happen before the second look at the sequence */
    atomic_thread_fence(memory_order_acquire);
    if (key != address || (sequence & 1)
        || atomic_load_explicit(&entry->sequence, memory_order_relaxed) != sequence)
        return false;
    *ret_rule = unwind_rule_unpack(word0, word1);
    return true;
}

/* The rule of an address (a return address minus one, or an interrupted pc), if it is cached. */
static inline bool unwind_rule_find(uintptr_t address, uint32_t epoch, struct unwind_rule *ret_rule)
{
    uint32_t entry_epoch;

    if (g_unwind_rule_cache == NULL)
        return false;
    for (unsigned way = 0; way < UNWIND_RULE_CACHE_WAYS; way++)
        if (unwind_rule_read(unwind_rule_entry(address, way), address, &entry_epoch, ret_rule)
            && entry_epoch == epoch)
            return true;
    return false;
}

#endif
