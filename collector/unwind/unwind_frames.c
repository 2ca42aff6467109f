/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_frames.h"

#include "collector/os/memory.h"
#include "collector/os/sys.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 256
};

/* References to an array of frames and its size. */
struct frame_array {
    struct unwind_frame **frames;
    size_t *capacity;
    bool *is_lent;
};

/* Replaces an array by a larger copy; false without memory, and then the old one stays. */
static bool grow_unblocked(const struct frame_array *array, size_t n_used, size_t n_wanted)
{
    struct unwind_frame *old = *array->frames;
    size_t n_old = *array->capacity;
    size_t n_new = n_old != 0 ? n_old : FIRST_CAPACITY;
    struct unwind_frame *grown;

    while (n_new < n_wanted)
        n_new *= 2;
    grown = memory_map(n_new * sizeof(*grown));
    if (grown == NULL)
        return false;
    if (n_used > 0)
        memcpy(grown, old, n_used * sizeof(*grown));
    *array->frames = grown;
    *array->capacity = n_new;
    if (!*array->is_lent)
        memory_unmap(old, n_old * sizeof(*old));
    *array->is_lent = false;
    return true;
}

/* With signals blocked: a handler that leaves by siglongjmp would leave an array with a wrong
 * size. */
static bool grow(struct frame_array array, size_t n_used, size_t n_wanted)
{
    struct sys_signals mask;
    bool is_blocked = sys_block_signals(&mask) >= 0;
    bool has_grown = grow_unblocked(&array, n_used, n_wanted);

    if (is_blocked)
        sys_unblock_signals(mask);
    return has_grown;
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
    return n_frames <= record->capacity
           || grow((struct frame_array){&record->frames, &record->capacity, &record->is_lent},
                   record->n_frames, n_frames);
}

MTRACE_COLD bool unwind_fresh_reserve_slow(struct unwind_fresh *fresh)
{
    size_t n_used = fresh->frames != NULL ? fresh->n_frames + 1
                                          : 0; /* includes the current frame of the walk */

    return grow((struct frame_array){&fresh->frames, &fresh->capacity, &fresh->is_lent}, n_used,
                fresh->n_frames + 2);
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
