/* SPDX-License-Identifier: MIT */
#include "recorder/pack/cull_frames.h"

#include <stdlib.h>

static bool has_frees(const struct log_frame *frame)
{
    return frame->kind == LOG_FRAME_SEGMENT
           && (frame->segment.kind == LOG_SEGMENT_EVENTS
               || frame->segment.kind == LOG_SEGMENT_SIDE);
}

static int by_beginning(const void *a, const void *b, void *frames)
{
    uint64_t left = frame_index_get(frames, *(const uint32_t *)a)->segment.base_ticks;
    uint64_t right = frame_index_get(frames, *(const uint32_t *)b)->segment.base_ticks;

    return (left > right) - (left < right);
}

bool cull_frames_init(struct cull_frames *culling, const struct frame_index *frames,
                      struct pack *pack, struct last_frees *frees, uint64_t margin_ticks)
{
    *culling = (struct cull_frames){.frames = frames,
                                    .pack = pack,
                                    .frees = frees,
                                    .margin_ticks = margin_ticks,
                                    .knows_frees = true};
    culling->last_ticks = calloc(frames->n_frames + 1, sizeof(*culling->last_ticks));
    culling->order = calloc(frames->n_frames + 1, sizeof(*culling->order));
    if (!culling->last_ticks || !culling->order) {
        cull_frames_done(culling);
        return false;
    }
    for (size_t i = 0; i < frames->n_frames; i++)
        if (has_frees(frame_index_get(frames, i)))
            culling->order[culling->n_ordered++] = (uint32_t)i;
    qsort_r(culling->order, culling->n_ordered, sizeof(*culling->order), by_beginning,
            (void *)(uintptr_t)frames);
    return true;
}

void cull_frames_done(struct cull_frames *culling)
{
    free(culling->last_ticks);
    free(culling->order);
    culling->last_ticks = NULL;
    culling->order = NULL;
}

static bool unpack(struct cull_frames *culling, const struct log_frame *frame)
{
    return pack_unpack(culling->pack, frame, frame + 1, 0, culling->payload, NULL) == 0;
}

static void learn(struct cull_frames *culling, size_t i)
{
    const struct log_frame *frame = frame_index_get(culling->frames, i);

    if (culling->last_ticks[i] != 0)
        return;
    if (!unpack(culling, frame)
        || !last_frees_read_payload(culling->frees, &frame->segment, culling->payload,
                                    frame->raw_bytes, &culling->last_ticks[i]))
        culling->knows_frees = false;
    culling->last_ticks[i] += culling->last_ticks[i] == 0;
}

/* All frames that began up to then. */
static void learn_until(struct cull_frames *culling, uint64_t ticks)
{
    while (culling->n_learned < culling->n_ordered) {
        uint32_t i = culling->order[culling->n_learned];
        if (frame_index_get(culling->frames, i)->segment.base_ticks > ticks)
            return;
        learn(culling, i);
        culling->n_learned++;
    }
}

const void *cull_frames_get(struct cull_frames *culling, size_t i)
{
    learn(culling, i);
    learn_until(culling, culling->last_ticks[i] + culling->margin_ticks);
    if (!culling->knows_frees || !unpack(culling, frame_index_get(culling->frames, i)))
        return NULL;
    return culling->payload;
}

bool cull_frames_learn_all(struct cull_frames *culling)
{
    learn_until(culling, UINT64_MAX);
    return culling->knows_frees;
}
