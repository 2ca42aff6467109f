/* SPDX-License-Identifier: MIT */
/*
 * stream_state: how far the events of a growing recording were handed out, so that a stream over
 * the same recording, opened later, continues after them.
 *
 * A stream stops at a mark. For each segment that it opened the state says that it is done, or
 * where the first event is that was not handed out, and the reader's state there.
 *
 * Invariants
 *   SX-1 All events up to the mark were handed out, none after it.
 *   SX-2 A stream up to the mark, and then one that continues, hand out what one stream over the
 *        complete recording hands out, except for SX-4.
 *   SX-3 Memory: about 100 bytes per segment.
 *   SX-4 Events with a time before the mark that come later are handed out at the mark, sorted by
 *        their times, and counted as events whose time went backward. What cannot be read at a mark
 *        is lost.
 *
 * Threads: that of the stream while one is open.
 */
#ifndef MTRACE_IMPORTER_STREAM_STATE_H
#define MTRACE_IMPORTER_STREAM_STATE_H

#include "importer/log/checkpoint_io.h"
#include "lib/base/hash_map.h"

#include <stdbool.h>
#include <stdint.h>

struct segment_position {
    uint64_t run_id, sequence; /* the key */
    uint64_t base_ticks;       /* reader state, as thread and group */
    uint64_t time;             /* of the event handed out last */
    uint32_t thread, group;
    uint32_t n_words;  /* before the next record */
    uint32_t n_items;  /* FALLBACK: number of records handed out, by time */
    bool is_half;      /* the next record is a realloc whose first half was handed out */
    bool has_reported; /* some event of the segment was handed out */
    bool is_done;
};

struct stream_state {
    struct hash_map positions; /* of struct segment_position */
    uint64_t mark;             /* fixed point (clock_map.h); UINT64_MAX: none */
    uint64_t last_time;        /* of the event handed out last */
    uint64_t claimed_bytes;
    uint64_t n_forgotten; /* done segments without a position (log_set_forget_removed) */
    uint64_t n_lost_nodes, n_backward, n_unknown, n_impossible;
    uint64_t n_lost_parts, lost_bytes; /* parts that could not be read */
    bool has_begun;
    bool is_cut; /* the end in the set's options was reached: the marker, if there is one */
};

enum {
    SEGMENT_POSITION_KEY_BYTES = 16
};

void stream_state_done(struct stream_state *state);

/* NULL: the segment is new. */
struct segment_position *stream_state_find(const struct stream_state *state, uint64_t run_id,
                                           uint64_t sequence);

/* Returns or creates the position; NULL: no memory. */
struct segment_position *stream_state_get(struct stream_state *state, uint64_t run_id,
                                          uint64_t sequence);

/* Saves, or loads into a zeroed state (checkpoint_io.h). */
void stream_state_visit(struct stream_state *state, struct checkpoint_io *io);

#endif
