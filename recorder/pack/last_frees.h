/* SPDX-License-Identifier: MIT */
/*
 * last_frees: when did another thread last give an address back, or the block there to another group?
 *
 * Model:   a table by a hash of the address: the latest end of a block (free, or the old block of
 *          a realloc), or move of one, and the latest one by any other thread than that. Addresses share places, so
 *          an answer may be too late, never too early. Segments are read while they are filled, as
 *          far as they are committed, and each byte once.
 * Invariants
 *   LR-1 After last_frees_read every end that was committed before the call is in the table. An end
 *        is committed before the real free, and a move before mtrace_move returns, so whoever got the address again, and freed it in a
 *        segment that was sealed before the call, did so after an end that is in the table.
 *   LR-2 A segment is read to its end before it is recycled: the caller reads after he took sealed
 *        segments, and recycles only those.
 *   LR-3 So it is with instants (instants.h): who does something because one has come does so after it was committed.
 * Threads: one per struct last_frees.
 */
#ifndef MTRACE_RECORDER_LAST_FREES_H
#define MTRACE_RECORDER_LAST_FREES_H

#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stdint.h>

struct instants;
struct last_frees;

/* NULL without memory. */
struct last_frees *last_frees_new(void);
void last_frees_free(struct last_frees *frees);

/* Learns what the live log gained since the last call; false without memory, or when a segment is
 * not sound: then no answer can be relied on any more. */
bool last_frees_read(struct last_frees *frees, const struct live_log *live);

/* Learns from one whole payload of EVENTS or SIDE, by the way of --pack; false when it is not
 * sound. *ret_last_ticks is the time of its last event, 0 without any. */
bool last_frees_read_payload(struct last_frees *frees, const struct log_segment *segment,
                             const void *payload, uint32_t n_bytes, uint64_t *ret_last_ticks);

/* What events that were read say of the whole process; owned by `frees`. */
struct instants *last_frees_instants(struct last_frees *frees);

/* The latest end of a block at `address`, or at one in the same place, by another thread; in ticks,
 * 0 = none. */
uint64_t last_frees_by_others(const struct last_frees *frees, uint64_t address, uint32_t thread);

#endif
