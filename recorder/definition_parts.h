/* SPDX-License-Identifier: MIT */
/*
 * definition_parts: what DEFS and NODES segments of a live log gained, part by part, so that the
 * packed file can have definitions before the events that use them (LF-3).
 *
 * Model:   a part reaches from what was packed before to the last definition that is committed now.
 *          Something in between may not be: its writer was interrupted, or never comes back. A part
 *          goes beyond such a gap, and the next one begins there once more; a gap that was there
 *          before is passed, and at the end the whole segment is packed again.
 * Invariants
 *   DP-1 What was committed when definition_parts_find was called is in the parts taken since.
 *   DP-2 Definitions are never recycled (LF-4): a segment once found is not searched for again.
 * Threads: one here; the program goes on writing.
 */
#ifndef MTRACE_RECORDER_DEFINITION_PARTS_H
#define MTRACE_RECORDER_DEFINITION_PARTS_H

#include "recorder/live_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct definition_parts {
    uint32_t *indexes; /* of segments, as they were found; owned */
    size_t n;
    size_t capacity;
};

void definition_parts_done(struct definition_parts *parts);

/* Does the segment hold definitions? */
bool definition_parts_is(const struct log_segment *segment);

/* Looks for the segments there are by now; cheap when there are no more. False without memory. */
bool definition_parts_find(struct definition_parts *parts, const struct live_log *live);

/* What there is to pack of a segment: payload bytes [*ret_first, *ret_end); false: nothing. */
bool definition_parts_next(const struct live_log *live, struct log_segment *segment,
                           uint32_t *ret_first, uint32_t *ret_end);

/* The same when nobody writes any more: all that is not zero. */
bool definition_parts_last(struct log_segment *segment, uint32_t *ret_first, uint32_t *ret_end);

#endif
