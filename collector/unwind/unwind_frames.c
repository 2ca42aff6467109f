/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_frames.h"

#include "collector/platform/memory.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 256
};

/* A larger copy of an array; NULL without memory, and then the old one stays. */
static struct unwind_frame *grow(struct unwind_frame *frames, size_t n_used, size_t n_wanted,
                                 size_t *capacity, bool *is_lent)
{
    size_t n_new = *capacity != 0 ? *capacity : FIRST_CAPACITY;
    struct unwind_frame *grown;

    while (n_new < n_wanted)
        n_new *= 2;
    grown = memory_map(n_new * sizeof(*grown));
    if (grown == NULL)
        return NULL;
    if (n_used > 0)
        memcpy(grown, frames, n_used * sizeof(*grown));
    if (!*is_lent)
        memory_unmap(frames, *capacity * sizeof(*frames));
    *is_lent = false;
    *capacity = n_new;
    return grown;
}

void unwind_record_lend(struct unwind_record *record, struct unwind_frame *frames, size_t n_frames)
{
    if (record->frames != NULL)
        return;
    record->frames = frames;
    record->capacity = n_frames;
    record->is_lent = true;
}

void unwind_fresh_lend(struct unwind_fresh *fresh, struct unwind_frame *frames, size_t n_frames)
{
    if (fresh->frames != NULL)
        return;
    fresh->frames = frames;
    fresh->capacity = n_frames;
    fresh->is_lent = true;
}

bool unwind_record_reserve(struct unwind_record *record, size_t n_frames)
{
    struct unwind_frame *frames;

    if (n_frames <= record->capacity)
        return true;
    frames = grow(record->frames, record->n_frames, n_frames, &record->capacity, &record->is_lent);
    if (frames == NULL)
        return false;
    record->frames = frames;
    return true;
}

MTRACE_COLD bool unwind_fresh_reserve_slow(struct unwind_fresh *fresh)
{
    size_t n_used = fresh->frames != NULL ? fresh->n_frames + 1 : 0; /* where the walk is, too */
    struct unwind_frame *frames =
        grow(fresh->frames, n_used, fresh->n_frames + 2, &fresh->capacity, &fresh->is_lent);

    if (frames == NULL)
        return false;
    fresh->frames = frames;
    return true;
}

void unwind_record_free(struct unwind_record *record)
{
    if (!record->is_lent)
        memory_unmap(record->frames, record->capacity * sizeof(struct unwind_frame));
}

void unwind_fresh_free(struct unwind_fresh *fresh)
{
    if (!fresh->is_lent)
        memory_unmap(fresh->frames, fresh->capacity * sizeof(struct unwind_frame));
}
