/* SPDX-License-Identifier: MIT */
/*
 * elide_frames: elides the frames of a packed log, by the way of --pack.
 *
 * Model:   last_frees must know what other threads freed up to the end of a frame. Their frames may
 *          lie behind it in the file, so before a frame is elided all those that began before it
 *          ended are read, in the order of their beginnings. Each frame is decoded twice.
 * Invariants
 *   CF-1 When elide_frames_get returns a payload, `frees` has every end of a block that is in a
 *        frame and was not later than the frame's last event, as elide_temporary asks.
 *   CF-2 After elide_frames_learn_all the ends of all frames are.
 * Threads: one.
 * Failure: a frame that cannot be read, or no memory: from then on nothing is elided.
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
    uint64_t margin_ticks; /* clocks of two processors may differ so much */
    uint64_t *last_ticks;  /* of each frame's last event; 0: not learned yet */
    uint32_t *order;       /* frames of events, by their beginning */
    size_t n_ordered;
    size_t n_learned; /* the first so many of the order are */
    bool knows_frees;
    _Alignas(uint64_t) uint8_t payload[LOG_SEGMENT_PAYLOAD_BYTES];
};

/* All but elide_frames_done is the caller's. False without memory. */
bool elide_frames_init(struct elide_frames *elision, const struct frame_index *frames,
                       struct pack *pack, struct last_frees *frees, uint64_t margin_ticks);
void elide_frames_done(struct elide_frames *elision);

/* The decoded payload of frame i, which is of EVENTS, valid until the next call; NULL when it is
 * not to be elided. */
const void *elide_frames_get(struct elide_frames *elision, size_t i);

/* Reads the frames that no call needed; false when one could not be read. */
bool elide_frames_learn_all(struct elide_frames *elision);

#endif
