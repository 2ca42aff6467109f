/* SPDX-License-Identifier: MIT */
/*
 * elide_totals: the totals of the blocks elided from one batch, as records.
 *
 * Blocks with the same stacks and group share one record; blocks of LOG_ELIDED_MIXED_BYTES and more
 * have one for each size. The record is a LOG_ELIDED if all have the same size and slack, else a
 * LOG_ELIDED_MIXED. One LOG_ELIDED_SIZES for each size class says what mixed blocks are made of,
 * and one LOG_ELIDED_LIVES describes each lifetime class. LOG_ELIDED_ALLOCATIONS has the number of
 * blocks and the most that were live. All records follow the last free.
 *
 * Invariants
 *   CT-1 Records and kept events together equal the original totals of each stack, group, thread,
 *        size and lifetime class.
 *
 * Threads: one. The arrays are large enough for the blocks of one segment.
 */
#ifndef MTRACE_RECORDER_ELIDE_TOTALS_H
#define MTRACE_RECORDER_ELIDE_TOTALS_H

#include "lib/abi/log_format.h"
#include "lib/totals/report_classes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELIDE_TOTALS_WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    ELIDE_TOTALS_SLOTS = 4096,
    ELIDE_TOTALS_CLASSES = 64,                     /* of blocks below LOG_ELIDED_MIXED_BYTES */
    ELIDE_TOTALS_MAX = ELIDE_TOTALS_WORDS / 5 + 1, /* words of an allocation and its free */
};

/* An elided block. */
struct elide_block {
    uint32_t node, free_node, group;
    uint64_t size; /* 40 bits | slack 16, as in the record of its allocation */
    uint64_t allocated_ticks, ended_ticks;
    bool is_temporary;
};

struct elide_total {
    uint64_t size;        /* as in the record of the first allocation; of all, unless is_mixed */
    uint64_t lived_ticks; /* sum */
    uint64_t first_ticks, last_ticks, largest_ticks;
    uint64_t bytes, slack_bytes, temporary_bytes;
    uint64_t min_bytes, largest_bytes;
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
    struct elide_total totals[ELIDE_TOTALS_MAX];
    uint16_t slots[ELIDE_TOTALS_SLOTS]; /* index + 1 */
    struct elide_class classes[ELIDE_TOTALS_CLASSES];
    uint64_t lives_bytes[LIFETIME_CLASSES];
    uint32_t lives[LIFETIME_CLASSES];
    uint32_t n;
    double ns_per_tick; /* set by the caller */
};

void elide_totals_clear(struct elide_totals *totals);
void elide_totals_add(struct elide_totals *totals, const struct elide_block *block);

/* Program events that the record stands for; 0 for bookkeeping records. Each elided block had
 * two. */
uint64_t elide_totals_events_of(const uint64_t *event);

/* The same for a payload, which may be elided. Stops at the first invalid event. */
uint64_t elide_totals_count_events(const uint64_t *words, size_t n_words);

/* Writes the records at `out`, before `end`, and clears the totals. `time`: an event's first two
 * words with the time, also given as now_ticks. Returns the end of the records; NULL: they do not
 * fit. */
uint64_t *elide_totals_put(struct elide_totals *totals, const uint64_t time[2], uint64_t now_ticks,
                           uint64_t *out, const uint64_t *end);

#endif
