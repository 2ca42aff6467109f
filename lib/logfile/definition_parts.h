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
 *   DP-2 Definitions are never recycled (LF-4): a segment that something was packed of is not searched for again,
 *        and stays what it was then, whatever the program writes there. Before that it may be given back: two threads
 *        wanted a new one at once, and one of them was too many. Then it is forgotten, and found again if it is taken again.
 * Threads: one here; the program goes on writing.
 */
#ifndef MTRACE_LIB_DEFINITION_PARTS_H
#define MTRACE_LIB_DEFINITION_PARTS_H

#include "lib/logfile/live_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of one segment. */
struct definition_part {
    uint64_t sequence;
    uint32_t index;
    uint32_t kind;
    uint32_t first_node;   /* NODES */
    uint32_t packed_bytes; /* of its payload */
    uint32_t looked_bytes; /* of its payload, in use at the last look */
    bool has_gaps;         /* something below packed_bytes was not there yet */
};

struct definition_parts {
    struct definition_part *parts; /* as they were found; owned */
    size_t n;
    size_t capacity;
    bool *is_known; /* by index of the segment; owned */
    size_t n_known;
};

void definition_parts_done(struct definition_parts *parts);

/* Does the segment hold definitions? */
bool definition_parts_is(const struct log_segment *segment);

/* Looks for the segments there are by now; cheap when there are no more. False without memory. */
bool definition_parts_find(struct definition_parts *parts, const struct live_log *live);

/* What there is to pack of a segment: payload bytes [*ret_first, *ret_end); false: nothing. */
bool definition_parts_next(const struct live_log *live, struct definition_part *part,
                           uint32_t *ret_first, uint32_t *ret_end);

/* The same when nobody writes any more: all that is not zero. */
bool definition_parts_last(const struct live_log *live, struct definition_part *part,
                           uint32_t *ret_first, uint32_t *ret_end);

/* Copies these bytes to ret_payload, and the segment's header as it should be. */
void definition_parts_copy(const struct live_log *live, const struct definition_part *part,
                           uint32_t first, uint32_t end, struct log_segment *ret_segment,
                           void *ret_payload);

/* The first whole definition at *at or behind, in n_bytes of a payload of DEFS; its text is behind it.
 * Moves *at on; NULL: there are no more. */
const struct log_def *definition_parts_def(const void *payload, size_t n_bytes, size_t *at);

#endif
