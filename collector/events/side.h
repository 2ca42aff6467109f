/* SPDX-License-Identifier: MIT */
/*
 * side: the one segment that all callers without usable thread state share.
 *
 * Invariants: SD-1 a record is whole before its `valid` is stored; SD-2 a segment is sealed by the
 *             writer that completes its last record, never while one is being written; SD-3 a record is stamped
 *             when its room is reserved already, so that whoever looks behind that time knows of it (in_flight.h).
 * Threads: any. Signals: safe, also nested. Failure: false.
 */
#ifndef MTRACE_COLLECTOR_SIDE_H
#define MTRACE_COLLECTOR_SIDE_H

#include <stdbool.h>
#include <stdint.h>

struct log_side_record;
struct log_segment;

/* Room for one record. */
struct side_place {
    struct log_side_record *record;
    struct log_segment *segment;
};

bool side_reserve(struct side_place *ret);

/* An event of at most six words, with its time bits zero. */
void side_write(const struct side_place *place, const uint64_t *words, unsigned n_words,
                uint64_t ticks, uint32_t thread, uint32_t group);

/* In a fork child. */
void side_forget(void);

#endif
