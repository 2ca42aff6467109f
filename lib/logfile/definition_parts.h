/* SPDX-License-Identifier: MIT */
/*
 * definition_parts: the growth of DEFS and NODES segments of a live log, part by part.
 *
 * It lets the packed file have definitions before the events that use them (LF-3). A part extends
 * from the end of the last one to the last definition that is committed now. There may be gaps:
 * definitions whose writer was interrupted, or never resumes. A part extends beyond a new gap, and
 * the next part begins at that gap again. A part skips a gap that was there before. At the end the
 * whole segment is packed again.
 *
 * Invariants
 *   DP-1 Definitions committed before a call of definition_parts_find are in the parts taken after
 *        it.
 *   DP-2 Definitions are never recycled (LF-4). A segment that has been packed in part is not
 *        searched for again and keeps its kind, whatever the program writes there. Before that it
 *        may be released, if two threads took a new segment and one was not needed; it is then
 *        forgotten, and found again when it is reused.
 *
 * One thread here, while the program writes.
 */
#ifndef MTRACE_LIB_DEFINITION_PARTS_H
#define MTRACE_LIB_DEFINITION_PARTS_H

#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State of one segment. */
struct definition_part {
    uint64_t sequence;
    uint32_t index;
    uint32_t kind;
    uint32_t first_node;   /* NODES */
    uint32_t packed_bytes; /* of its payload */
    uint32_t looked_bytes; /* of its payload, in use at the last scan */
    bool has_gaps;         /* a definition below packed_bytes was not committed yet */
};

struct definition_parts {
    struct definition_part *parts; /* in the order found; owned */
    size_t n;
    size_t capacity;
    bool *is_known; /* by index of the segment; owned */
    size_t n_known;
};

void definition_parts_done(struct definition_parts *parts);

/* Does the segment hold definitions? */
bool definition_parts_is(const struct log_segment *segment);

/* Finds new segments; cheap if there are none. False without memory. */
bool definition_parts_find(struct definition_parts *parts, const struct live_log *live);

/* A DEFS segment has more definitions than at its last scan. */
bool definition_parts_have_grown(const struct definition_parts *parts, const struct live_log *live);

/* The next part of a segment: payload bytes [*ret_first, *ret_end); false: nothing new. */
bool definition_parts_next(const struct live_log *live, struct definition_part *part,
                           uint32_t *ret_first, uint32_t *ret_end);

/* The same after all writers have ended: everything that is not zero. */
bool definition_parts_last(const struct live_log *live, struct definition_part *part,
                           uint32_t *ret_first, uint32_t *ret_end);

/* Copies these bytes to ret_payload, and a corrected header of the segment. */
void definition_parts_copy(const struct live_log *live, const struct definition_part *part,
                           uint32_t first, uint32_t end, struct log_segment *ret_segment,
                           void *ret_payload);

/* The first whole definition at or after *at in n_bytes of a DEFS payload, followed by its text.
 * Advances *at; NULL: no more. */
const struct log_def *definition_parts_def(const void *payload, size_t n_bytes, size_t *at);

#endif
