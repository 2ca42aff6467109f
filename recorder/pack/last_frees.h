/* SPDX-License-Identifier: MIT */
/*
 * last_frees: when did another thread last free an address, or move the block there to another
 * group?
 *
 * A hash table by address stores the latest free (also by realloc) or move, and the latest one by a
 * different thread than that. Addresses share slots, so an answer may be too late but never too
 * early. Segments are read while they are being filled, up to their committed length, and each byte
 * once.
 *
 * Invariants
 *   LR-1 After last_frees_read every free that was committed before the call is in the table.
 *   LR-2 A segment is read to its end before it is recycled: the caller reads after taking sealed
 *        segments, and recycles only those.
 *
 * Notes: Why LR-1: a free is committed before the real free, and a move before mtrace_move
 * returns. So a thread that got the address again, and freed it in a segment sealed before the
 * call, did so after a free that is in the table.
 *
 * Threads: one per struct last_frees.
 */
#ifndef MTRACE_RECORDER_LAST_FREES_H
#define MTRACE_RECORDER_LAST_FREES_H

#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stdint.h>

struct last_frees;

/* NULL without memory. */
struct last_frees *last_frees_new(void);
void last_frees_free(struct last_frees *frees);

/* Reads what was added to the live log since the last call. False without memory, or if a segment
 * is invalid: from then on answers are unreliable. */
bool last_frees_read(struct last_frees *frees, const struct live_log *live);

/* Learns of one free. */
void last_frees_learn(struct last_frees *frees, uint64_t address, uint32_t thread, uint64_t ticks);

/* The latest free by another thread at `address`, or at an address in the same slot; in ticks, 0:
 * none. */
uint64_t last_frees_by_others(const struct last_frees *frees, uint64_t address, uint32_t thread);

#endif
