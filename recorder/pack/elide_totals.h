/* SPDX-License-Identifier: MIT */
/*
 * elide_totals: what the blocks that are taken out of one stretch of a segment amount to, as records.
 *
 * Model:   one record for all blocks of the same stacks and group, of blocks of LOG_ELIDED_MIXED_BYTES and more one for each size: a LOG_ELIDED
 *          where all have the same size and slack, else a LOG_ELIDED_MIXED, and what classes those are of in LOG_ELIDED_SIZES, one for each
 *          class. One LOG_ELIDED_LIVES for each class of lifetimes; and how many there were, and were live at a time, in
 *          LOG_ELIDED_ALLOCATIONS. All stand where the last of them ended.
 * Invariants
 *   CT-1 With the events that stay they add up to the totals that were, of each stack, group, thread, size and class of lifetimes.
 * Threads: one. Failure: none; there is room for the blocks of a segment.
 */
#ifndef MTRACE_RECORDER_ELIDE_TOTALS_H
#define MTRACE_RECORDER_ELIDE_TOTALS_H

#include "lib/abi/log_format.h"
#include "lib/totals/lifetime_class.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELIDE_TOTALS_WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    ELIDE_TOTALS_SLOTS = 4096,
    ELIDE_TOTALS_CLASSES = 64,                      /* of blocks below LOG_ELIDED_MIXED_BYTES */
    ELIDE_TOTALS_MOST = ELIDE_TOTALS_WORDS / 5 + 1, /* words of an allocation and its free */
};

/* A block that was taken out. */
struct elide_block {
    uint32_t node, free_node, group;
    uint64_t size; /* 40 bits | slack 16, as in the record of its birth */
    uint64_t allocated_ticks, ended_ticks;
    bool is_temporary;
};

struct elide_total {
    uint64_t size;        /* as in the record of the first birth; of all, unless is_mixed */
    uint64_t lived_ticks; /* of all */
    uint64_t first_ticks, last_ticks, largest_ticks;
    uint64_t bytes, slack_bytes, temporary_bytes;
    uint64_t least_bytes, largest_bytes;
    uint32_t node, free_node, group;
    uint16_t n, n_temporary;
    bool is_mixed;
};

/* Of one class of sizes. */
struct elide_class {
    uint64_t bytes, slack_bytes;
    uint32_t n, n_temporary;
};

struct elide_totals {
    struct elide_total totals[ELIDE_TOTALS_MOST];
    uint16_t slots[ELIDE_TOTALS_SLOTS]; /* index + 1 */
    struct elide_class classes[ELIDE_TOTALS_CLASSES];
    uint64_t lives_bytes[LIFETIME_CLASSES];
    uint32_t lives[LIFETIME_CLASSES];
    uint32_t n;
    double ns_per_tick; /* the caller's */
};

void elide_totals_clear(struct elide_totals *totals);
void elide_totals_add(struct elide_totals *totals, const struct elide_block *block);

/* Events of the program that the record tells of, 0 of bookkeeping: each block that was taken out had two. */
uint64_t elide_totals_events_of(const uint64_t *event);

/* Those of the payload, which may be elided. What cannot be walked is not counted. */
uint64_t elide_totals_count_events(const uint64_t *words, size_t n_words);

/* Puts the records at `out`, of which `end` is the end; `time` is the time of an event in its first two words, and now_ticks the same. Returns where they end; NULL: there is no room. Clears. */
uint64_t *elide_totals_put(struct elide_totals *totals, const uint64_t time[2], uint64_t now_ticks,
                           uint64_t *out, const uint64_t *end);

#endif
