/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_frames.h"

#include "collector/platform/memory.h"
#include "collector/platform/sys.h"
#include "common/log_format.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 256
};

struct unwind_state *unwind_state_new(struct unwind_memory *memory)
{
    struct unwind_state *state = memory_map(sizeof(*state));

    if (state != NULL)
        state->memory = memory;
    memory->state = state;
    return state;
}

void unwind_state_free(struct unwind_state *state)
{
    for (unsigned i = 0; i < UNWIND_RECORDS; i++)
        memory_unmap(state->records[i].frames,
                     state->records[i].capacity * sizeof(struct unwind_frame));
    memory_unmap(state->fresh.frames, state->fresh.capacity * sizeof(struct unwind_frame));
    memory_unmap(state, sizeof(*state));
}

void unwind_state_reset(struct unwind_state *state, uint32_t epoch)
{
    state->epoch = epoch;
    for (unsigned i = 0; i < UNWIND_RECORDS; i++) {
        state->records[i].n_frames = 0;
        state->records[i].anchor = 0;
        state->records[i].proven_high = 0;
    }
}

/* A larger copy of an array; NULL without memory, and then the old one stays. */
static struct unwind_frame *grow(struct unwind_frame *frames, size_t n_used, size_t n_wanted,
                                 size_t *capacity)
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
    memory_unmap(frames, *capacity * sizeof(*frames));
    *capacity = n_new;
    return grown;
}

bool unwind_record_reserve(struct unwind_record *record, size_t n_frames)
{
    struct unwind_frame *frames;

    if (n_frames <= record->capacity)
        return true;
    frames = grow(record->frames, record->n_frames, n_frames, &record->capacity);
    if (frames == NULL)
        return false;
    record->frames = frames;
    return true;
}

MTRACE_COLD bool unwind_fresh_reserve_slow(struct unwind_fresh *fresh)
{
    size_t n_used = fresh->frames != NULL ? fresh->n_frames + 1 : 0; /* where the walk is, too */
    struct unwind_frame *frames =
        grow(fresh->frames, n_used, fresh->n_frames + 2, &fresh->capacity);

    if (frames == NULL)
        return false;
    fresh->frames = frames;
    return true;
}

/*
 * While the stack pointer is on our stack, a handler with SA_ONSTACK may start at the top of the
 * alternate stack. If we came from there, that would overwrite live frames: block signals then.
 * Where system calls are forbidden, stay: a handler that uses more stack than planned is the lesser
 * risk.
 */
void unwind_state_run(struct unwind_state *state, void (*function)(void *state))
{
    const struct unwind_memory *memory = state->memory;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    bool is_own_stack = here >= memory->stack_low && here < memory->stack_high;
    uint64_t mask;

    if (state->is_on_private_stack || (!is_own_stack && sys_block_signals(&mask) < 0)) {
        function(state);
        return;
    }
    state->is_on_private_stack = true;
    arch_call_on_stack(function, state, state->private_stack + sizeof(state->private_stack));
    state->is_on_private_stack = false;
    if (!is_own_stack)
        sys_unblock_signals(mask);
}

const struct unwind_frame *unwind_last_frames(const struct unwind_memory *memory,
                                              size_t *ret_n_frames)
{
    const struct unwind_state *state = memory->state;

    *ret_n_frames = 0;
    if (state == NULL || state->last_record == NULL)
        return NULL;
    *ret_n_frames = state->last_record->n_frames;
    if (*ret_n_frames <= state->n_wanted)
        return state->last_record->frames;
    *ret_n_frames = state->n_wanted;
    return state->last_record->frames + state->last_record->n_frames - state->n_wanted;
}

uint32_t unwind_last_root(const struct unwind_memory *memory)
{
    const struct unwind_state *state = memory->state;

    if (state == NULL || state->last_record == NULL)
        return LOG_NODE_NONE;
    return state->last_record->n_frames > state->n_wanted ? LOG_NODE_TRUNCATED
                                                          : state->last_record->root;
}
