/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_state.h"

#include "collector/platform/memory.h"
#include "common/log_format.h"

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
        unwind_record_free(&state->records[i]);
    unwind_fresh_free(&state->fresh);
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
