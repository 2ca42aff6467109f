/* SPDX-License-Identifier: MIT */
/*
 * cull: leaves short-lived blocks out of a log, without losing their totals.
 *
 * Model:   within one EVENTS segment, a block allocated and freed by the same thread within max_ns
 *          is taken out. Blocks that were ever reallocated stay, so a chain is never torn, and so do
 *          those that were freed in another group, or moved. For each
 *          (stack, stack of the free, thread, group, size class, temporary or not) one LOG_CULLED record says
 *          how many blocks and bytes there were.
 * Invariants
 *   CU-1 For every stack, events kept plus LOG_CULLED totals equal the events that were.
 *   CU-2 The result is not longer than what was given.
 *   CU-3 The pair is one block. It is not when another thread freed it, the address was given out
 *        anew and the first thread freed that block: allocation 1, free by another, allocation 2
 *        by another, free of 2. So a pair stays when any other thread freed the address since the
 *        allocation. Without such a free nobody else can have had the address between the two, and
 *        what other threads did with it before and after still alternates.
 *   CU-4 The totals stand where the last event was taken out: a block that is born behind it, mostly the
 *        one that the segment's end parts from its free, has them all before its birth, as it was. A block that
 *        stays and was born among the others has them all behind its birth: what its thread allocated
 *        in its life is counted too high by those that were there before, or, when it ends before
 *        the totals, too low by those between.
 * Threads: one per struct cull.
 */
#ifndef MTRACE_RECORDER_CULL_H
#define MTRACE_RECORDER_CULL_H

#include "common/log_format.h"

#include <stdint.h>

enum {
    CULL_MARGIN_NS = 1000 /* clocks of two processors may differ by this */
};

struct cull;
struct last_frees;

/* NULL without memory. */
struct cull *cull_new(uint64_t max_ns);
void cull_free(struct cull *cull);

/*
 * The payload of an EVENTS segment without its temporary blocks: either `payload` itself, or memory
 * of `cull` that lives until the next call. *n_bytes is its length before and after. `others` knows
 * all frees that were committed when the segment was sealed (LR-1); NULL: there is one thread only.
 */
const void *cull_temporary(struct cull *cull, const struct log_segment *segment,
                           const void *payload, const struct last_frees *others,
                           double ticks_per_ns, uint32_t *n_bytes);

/* Blocks left out so far; takes NULL. */
uint64_t cull_count(const struct cull *cull);

#endif
