/* SPDX-License-Identifier: MIT */
#include "recorder/pack/elide_frames.h"

#include <stdlib.h>

static bool has_frees(const struct log_frame *frame)
{
    return frame->kind == LOG_FRAME_SEGMENT
           && (frame->segment.kind == LOG_SEGMENT_EVENTS
               || frame->segment.kind == LOG_SEGMENT_FALLBACK);
}

static int by_beginning(const void *a, const void *b, void *frames)
{
    uint64_t left = frame_index_get(frames, *(const uint32_t *)a)->segment.base_ticks;
    uint64_t right = frame_index_get(frames, *(const uint32_t *)b)->segment.base_ticks;

    return (left > right) - (left < right);
}

bool elide_frames_init(struct elide_frames *elision, const struct frame_index *frames,
                       struct pack *pack, struct last_frees *frees, uint64_t margin_ticks)
{
    *elision = (struct elide_frames){.frames = frames,
                                     .pack = pack,
                                     .frees = frees,
                                     .margin_ticks = margin_ticks,
                                     .knows_frees = true};
    elision->last_ticks = calloc(frames->n_frames + 1, sizeof(*elision->last_ticks));
    elision->order = calloc(frames->n_frames + 1, sizeof(*elision->order));
    if (!elision->last_ticks || !elision->order) {
        elide_frames_done(elision);
        return false;
    }
    for (size_t i = 0; i < frames->n_frames; i++)
        if (has_frees(frame_index_get(frames, i)))
            elision->order[elision->n_ordered++] = (uint32_t)i;
    qsort_r(elision->order, elision->n_ordered, sizeof(*elision->order), by_beginning,
            (void *)(uintptr_t)frames);
    return true;
}

void elide_frames_done(struct elide_frames *elision)
{
    free(elision->last_ticks);
    free(elision->order);
    elision->last_ticks = NULL;
    elision->order = NULL;
}

static bool unpack(struct elide_frames *elision, const struct log_frame *frame)
{
    return pack_unpack(elision->pack, frame, frame + 1, 0, elision->payload, NULL) == 0;
}

static void learn(struct elide_frames *elision, size_t i)
{
    const struct log_frame *frame = frame_index_get(elision->frames, i);

    if (elision->last_ticks[i] != 0)
        return;
    if (!unpack(elision, frame)
        || !last_frees_read_payload(elision->frees, &frame->segment, elision->payload,
                                    frame->raw_bytes, &elision->last_ticks[i]))
        elision->knows_frees = false;
    elision->last_ticks[i] += elision->last_ticks[i] == 0;
}

/* Learns all frames that began before this time. */
static void learn_until(struct elide_frames *elision, uint64_t ticks)
{
    while (elision->n_learned < elision->n_ordered) {
        uint32_t i = elision->order[elision->n_learned];
        if (frame_index_get(elision->frames, i)->segment.base_ticks > ticks)
            return;
        learn(elision, i);
        elision->n_learned++;
    }
}

const void *elide_frames_get(struct elide_frames *elision, size_t i)
{
    learn(elision, i);
    learn_until(elision, elision->last_ticks[i] + elision->margin_ticks);
    if (!elision->knows_frees || !unpack(elision, frame_index_get(elision->frames, i)))
        return NULL;
    return elision->payload;
}

bool elide_frames_learn_all(struct elide_frames *elision)
{
    learn_until(elision, UINT64_MAX);
    return elision->knows_frees;
}
