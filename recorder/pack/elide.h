/* SPDX-License-Identifier: MIT */
/*
 * elide: removes short-lived blocks from a segment and writes their totals instead.
 *
 * A block is elided if one thread allocates and frees it in the same EVENTS segment and in the same
 * group, at most max_ns apart, and it is smaller than max_bytes. One LOG_ELIDED has the totals of
 * all elided blocks with the same stacks, group and classes. It follows the last of these blocks:
 * at the end, before a marker or the like, or ELIDE_DELAY_NS after the first.
 * LOG_ELIDED_ALLOCATIONS tells the reader how many blocks the thread allocated. A change of the
 * group is written only if an event that stays needs it.
 *
 * Blocks that were reallocated or moved to another group stay, and so do those that are alive when
 * their thread sets a marker, begins or ends a phase or a window, forks or ends. A segment with
 * events of pools or objects is not elided: a pool may give out blocks inside any other.
 *
 * Invariants
 *   CU-1 For every stack, thread, group, size class and lifetime class, kept events plus totals
 *        equal the original events.
 *   CU-2 The result fits into a segment; otherwise the segment stays as it is. That can happen
 *        only if hardly any two elided blocks of a full segment have the same key.
 *   CU-3 Only a free of the same block makes a pair: it stays if another thread freed or moved the
 *        address since the allocation.
 *   CU-4 Readers see the same temporary blocks: the number of elided allocations is written before
 *        each event of this segment whose result it changes.
 *   CU-5 Events stamped before `from_ticks` are copied unchanged.
 *
 * Notes: CU-3: without the rule, a wrong pair is possible: allocation 1, free by another thread,
 * allocation 2 at the same address by another thread, free of 2 by the first. Without a foreign
 * free no other thread can have had the address between the two events, and what other threads did
 * before and after still alternates. CU-4: a block is temporary if the thread made at most one
 * other until its free.
 *
 * Threads: one per struct elide.
 */
#ifndef MTRACE_RECORDER_ELIDE_H
#define MTRACE_RECORDER_ELIDE_H

#include "lib/abi/log_format.h"

#include <stdint.h>

#define ELIDE_DELAY_NS 200000000 /* a time in the report is at most this much too late */

enum {
    ELIDE_MARGIN_NS = 1000 /* clocks of two processors may differ by this much */
};

struct elide;
struct last_frees;

/* A sealed EVENTS segment. */
struct elide_input {
    const struct log_segment *segment;
    const void *payload;
    uint32_t n_bytes;
    unsigned time_shift; /* the rounding of times in the packed log (pack.h) */
    /* Knows all frees that were committed when the segment was sealed (LR-1); NULL: there is only
     * one thread. */
    const struct last_frees *others;
    uint64_t from_ticks;
    double ticks_per_ns; /* 0: not known, and nothing is elided */
};

struct elide_result {
    const void *payload; /* the input's, or memory of `elide` that is valid until the next call */
    uint32_t n_bytes;
    uint64_t n_elided; /* blocks; 0: the payload is the input's */
    uint64_t n_events; /* of the input, if blocks were elided */
};

/* NULL without memory. */
struct elide *elide_new(uint64_t max_ns, uint64_t max_bytes);
void elide_free(struct elide *elide);

void elide_segment(struct elide *elide, const struct elide_input *input,
                   struct elide_result *ret_result);

#endif
