/* SPDX-License-Identifier: MIT */
/*
 * elide: leaves short-lived blocks out of a log without losing their totals.
 *
 * A block is elided if one thread allocates and frees it within one batch of an EVENTS segment, at
 * most max_ns apart. A batch ends with a bucket of the timeline (elide_clock.h), and at each record
 * for which a reader looks at all blocks; a move of one block to another group and a pool's records
 * are not such records. Blocks that were reallocated, moved, or freed in another group stay, so
 * realloc chains are complete. The totals of elided blocks follow the last of them as records
 * (elide_totals.h). A change of the group is written only if an event that stays needs it.
 *
 * Invariants
 *   CU-1 For every stack, thread, group, class and time bucket, kept events plus totals equal the
 *        original events.
 *   CU-2 The result is never longer than a segment.
 *   CU-3 Only a free of the same block makes a pair: it stays if another thread freed or moved the
 *        address since the allocation.
 *   CU-4 The temporary-block test stays exact: LOG_ELIDED_ALLOCATIONS is written before each event
 *        whose result the elided count changes.
 *   CU-5 The thread's highest sum of live bytes, and its time, are the same for the events that
 *        stay.
 *   CU-6 The blocks with the lowest and highest address so far in each MiB stay: heap extents are
 *        made from them.
 *   CU-7 Events stamped before `from_ticks` are copied unchanged.
 *   CU-8 No elided block, and no totals record's time span, crosses a synchronization point of any
 *        thread (sync_points.h).
 *   CU-9 A block stays if its thread has a pool give out a block inside it during its life.
 *
 * Notes: CU-3: without the rule, a wrong pair is possible: allocation 1, free by another thread,
 * allocation 2 at the same address by another thread, free of 2 by the first. Without a foreign
 * free no other thread can have had the address between the two events, and what other threads did
 * before and after still alternates.
 *
 * CU-4: the test only asks whether the thread made more than one other block.
 *
 * CU-5: of each batch a block stays that is live when the sum may be higher than ever before. Live
 * blocks of earlier segments and frees by other threads are unknown here, but both only lower the
 * sum. So it is enough to look at times at which the known sum is higher than ever before. With one
 * thread, one such time between two frees of unknown blocks is enough, and the result is the
 * program's peak. For several threads, and for one stack, the peak may be too high by at most the
 * live bytes that LOG_ELIDED_ALLOCATIONS reports.
 *
 * CU-9: the size of a pool's take is known, and its blocks end with the block they lie in. A pool
 * call by another thread within the segment is not noticed.
 *
 * Threads: one per struct elide.
 */
#ifndef MTRACE_RECORDER_ELIDE_H
#define MTRACE_RECORDER_ELIDE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

#define ELIDE_ANY_AGE UINT64_MAX /* max_ns */

enum {
    ELIDE_MARGIN_NS = 1000 /* clocks of two processors may differ by this much */
};

struct elide;
struct last_frees;

/* NULL without memory. */
struct elide *elide_new(uint64_t max_ns);
void elide_free(struct elide *elide);

/* Call before the first segment, and again while the header's two clock readings are too close
 * together: until then nothing is elided. time_shift: the rounding of times in the packed log
 * (pack.h). */
void elide_set_clock(struct elide *elide, const struct log_header *file, unsigned time_shift);

/*
 * Returns the payload of an EVENTS segment without elided blocks: `payload` itself, or memory of
 * `elide` that is valid until the next call. *n_bytes is its length before and after. `others`
 * knows all frees that were committed when the segment was sealed (LR-1); NULL: there is only one
 * thread.
 */
const void *elide_temporary(struct elide *elide, const struct log_segment *segment,
                            const void *payload, struct last_frees *others, uint64_t from_ticks,
                            uint32_t *n_bytes);

/* Undoes the last call, because its segment was not written to the log and may be passed again:
 * blocks are not counted, and reported addresses are forgotten. */
void elide_undo(struct elide *elide);

/* The number of events of the last segment that was elided, including elided ones. */
uint64_t elide_n_events(const struct elide *elide);

/* Blocks elided so far; takes NULL. */
uint64_t elide_count(const struct elide *elide);

#endif
