/* SPDX-License-Identifier: MIT */
/*
 * elide: leaves short-lived blocks out of a log, without losing their totals.
 *
 * Model:   within one stretch of an EVENTS segment, a block allocated and freed by the same thread within max_ns is taken out. A
 *          stretch ends where a bucket of the timeline does (elide_clock.h), and at each record of which somebody looks at all blocks: not
 *          where one moves to another group, or at what pools say of theirs. Blocks that were ever
 *          reallocated stay, so a chain is never torn, and so do those that were freed in another group, or moved. What the others amount
 *          to stands in records behind the last of them (elide_totals.h). Of groups only those are still told that something which stays is charged to.
 * Invariants
 *   CU-1 For every stack, thread, group, class and bucket of time, events kept plus totals equal the events that were.
 *   CU-2 The result is not longer than a segment can be.
 *   CU-3 The pair is one block. It is not when another thread freed it, the address was given out
 *        anew and the first thread freed that block: allocation 1, free by another, allocation 2
 *        by another, free of 2. Nor may another thread have moved it to another group. So a pair stays when any other thread freed the address,
 *        or moved what was there, since the allocation. Without such a free nobody else can have had the address between the two, and
 *        what other threads did with it before and after still alternates.
 *   CU-4 Which blocks are temporary can be told of all: before each event where it matters to somebody how many blocks the thread made, a
 *        LOG_ELIDED_ALLOCATIONS says how many were taken out. It matters between one at most, and more.
 *   CU-5 The highest sum of live bytes of what the thread allocated, and its instant, are those of the events that stay: of each stretch
 *        a block stays that lives at an instant when the sum may be higher than at any before. What live blocks of earlier
 *        segments take is not known here, nor when other threads free, but by both it only gets less: it is enough to look at those instants at
 *        which what is known of is higher than at all before; with one thread, one for each time between two ends of such blocks. Of a program
 *        with one thread that is its peak; of others, and of one stack, it may be higher by at most what LOG_ELIDED_ALLOCATIONS says was live at a time.
 *   CU-6 A block stays that is the lowest or highest so far of a MiB: from these heaps are made.
 *   CU-7 Whatever was stamped before `from_ticks` stays as it is, word for word.
 *   CU-8 Nothing that is taken out spans an instant of any thread (instants.h), nor does the time that its totals stand for.
 *   CU-9 A block stays in which its thread has a pool give out a block meanwhile: what a pool took is known, and its blocks end with it.
 *        Where another thread does so, within the segment that the block begins and ends in, nobody sees it here.
 * Threads: one per struct elide.
 */
#ifndef MTRACE_RECORDER_ELIDE_H
#define MTRACE_RECORDER_ELIDE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

#define ELIDE_ANY_AGE UINT64_MAX /* max_ns */

enum {
    ELIDE_MARGIN_NS = 1000 /* clocks of two processors may differ by this */
};

struct elide;
struct last_frees;

/* NULL without memory. */
struct elide *elide_new(uint64_t max_ns);
void elide_free(struct elide *elide);

/* Before the first segment, and as long as the header's readings are too near each other again: until then all stays. time_shift: times
 * will be rounded so (pack.h). */
void elide_set_clock(struct elide *elide, const struct log_file *file, unsigned time_shift);

/*
 * The payload of an EVENTS segment without its temporary blocks: either `payload` itself, or memory
 * of `elide` that lives until the next call. *n_bytes is its length before and after. `others` knows
 * all frees that were committed when the segment was sealed (LR-1); NULL: there is one thread only.
 */
const void *elide_temporary(struct elide *elide, const struct log_segment *segment,
                            const void *payload, struct last_frees *others, uint64_t from_ticks,
                            uint32_t *n_bytes);

/* The segment of the last call did not come into the log, and may be given again: its blocks are not counted, and of what it told nothing is taken as told. */
void elide_undo(struct elide *elide);

/* Of the segment of the last call, which was elided: its events, what was left out included. */
uint64_t elide_n_events(const struct elide *elide);

/* Blocks left out so far; takes NULL. */
uint64_t elide_count(const struct elide *elide);

#endif
