/* SPDX-License-Identifier: MIT */
/*
 * elide_frames: elides blocks in the frames of a packed log, for --pack.
 *
 * last_frees must know what other threads freed until the end of a frame. Those frames may come
 * later in the file, so all frames that began before this one ended are read first, ordered by
 * their beginning. Each frame is decoded twice.
 *
 * Invariants
 *   CF-1 When elide_frames_get returns a payload, `frees` has all frees in frames up to the frame's
 *        last event.
 *   CF-2 After elide_frames_learn_all `frees` has the frees of all frames.
 *
 * Threads: one. Errors: after an unreadable frame, or without memory, nothing more is elided.
 */
#ifndef MTRACE_RECORDER_ELIDE_FRAMES_H
#define MTRACE_RECORDER_ELIDE_FRAMES_H

#include "lib/logfile/pack.h"
#include "recorder/pack/frame_index.h"
#include "recorder/pack/last_frees.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elide_frames {
    const struct frame_index *frames;
    struct pack *pack;
    struct last_frees *frees;
    uint64_t margin_ticks; /* clocks of two processors may differ by this much */
    uint64_t *last_ticks;  /* of each frame's last event; 0: not learned yet */
    uint32_t *order;       /* frames of events, by their beginning */
    size_t n_ordered;
    size_t n_learned; /* the first n of the order are learned */
    bool knows_frees;
    _Alignas(uint64_t) uint8_t payload[LOG_SEGMENT_PAYLOAD_BYTES];
};

/* The caller owns everything except what elide_frames_done frees. False without memory. */
bool elide_frames_init(struct elide_frames *elision, const struct frame_index *frames,
                       struct pack *pack, struct last_frees *frees, uint64_t margin_ticks);
void elide_frames_done(struct elide_frames *elision);

/* The decoded payload of EVENTS frame i, valid until the next call; NULL if it must not be
 * elided. */
const void *elide_frames_get(struct elide_frames *elision, size_t i);

/* Reads the frames that no call needed; false if one could not be read. */
bool elide_frames_learn_all(struct elide_frames *elision);

#endif
