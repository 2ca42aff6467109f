/* SPDX-License-Identifier: MIT */
/*
 * side: the fallback segment that all callers without a usable thread state share.
 *
 * Invariants
 *   SD-1 A record is complete before its `valid` is stored.
 *   SD-2 The writer that completes the last record seals the segment, so never while a record is
 *        being written.
 *   SD-3 The space of a record is reserved before its time is taken, so that in_flight.h finds
 *        every record that was stamped.
 *
 * Threads: any. Async-signal-safe and reentrant. Returns false on failure.
 */
#ifndef MTRACE_COLLECTOR_SIDE_H
#define MTRACE_COLLECTOR_SIDE_H

#include <stdbool.h>
#include <stdint.h>

struct log_side_record;
struct log_segment;

/* Reserved space for one record. */
struct side_place {
    struct log_side_record *record;
    struct log_segment *segment;
};

bool side_reserve(struct side_place *ret);

/* Writes an event of at most six words, whose time bits are zero. */
void side_write(const struct side_place *place, const uint64_t *words, unsigned n_words,
                uint64_t ticks, uint32_t thread, uint32_t group);

/* In a fork child: forgets the segment. */
void side_forget(void);

#endif
