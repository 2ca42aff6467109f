/* SPDX-License-Identifier: MIT */
/*
 * stream_state: how far the events of a recording that is still written were handed out, so that a
 * later stream over the same recording, opened anew, goes on behind them.
 *
 * Model:   a stream is stopped at a mark. Of each segment that it opened the state knows whether it is
 *          done, or where the first event lies that was not handed out, and what the words before it say
 *          about that one.
 * Invariants
 *   SX-1 All events up to the mark were handed out, none behind it.
 *   SX-2 What a stream hands out up to the mark, and then one that goes on, is what one stream hands out
 *        that is opened when all is there; or the second one says is_late. Then all is to be read anew.
 *   SX-4 With is_sole, where nothing can be read anew, events that come late are handed out at the mark, in the order of their times, and
 *        counted as ones whose time went backward.
 *   SX-3 Memory: about 100 bytes per segment.
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
    uint64_t base_ticks;       /* of the reader, as thread and group */
    uint64_t time;             /* of the event handed out last */
    uint32_t thread, group;
    uint32_t n_words;  /* in front of the record that comes next */
    uint32_t n_items;  /* SIDE: handed out, in order of time */
    bool is_half;      /* of that record, a realloc, the first half was handed out */
    bool has_reported; /* any event of it was handed out */
    bool is_done;
};

struct stream_state {
    struct hash_map positions; /* of struct segment_position */
    uint64_t mark;             /* fixed point, as clock_map.h; UINT64_MAX: none */
    uint64_t last_time;        /* of the event handed out last */
    uint64_t claimed_bytes;
    uint64_t n_gone; /* segments that were done, and have no position any more */
    uint64_t n_lost_nodes, n_backward, n_unknown, n_impossible;
    uint64_t n_lost_parts, lost_bytes; /* is_sole: what could not be read, and will not be */
    bool is_late;                      /* an event that is new lies before the mark */
    bool has_damage; /* what cannot be read of it now may be readable later: nothing can be kept */
    bool has_begun;
    bool is_sole; /* SX-4; whoever goes on says so again */
    bool
        is_cut; /* the end that the options of the set want was come to: the marker, if they name one */
};

enum {
    SEGMENT_POSITION_KEY_BYTES = 16
};

void stream_state_done(struct stream_state *state);

/* NULL: the segment is new. */
struct segment_position *stream_state_find(const struct stream_state *state, uint64_t run_id,
                                           uint64_t sequence);

/* NULL without memory. */
struct segment_position *stream_state_get(struct stream_state *state, uint64_t run_id,
                                          uint64_t sequence);

/* Into the bytes or from them, into one that is all zero (checkpoint_io.h). */
void stream_state_visit(struct stream_state *state, struct checkpoint_io *io);

#endif
