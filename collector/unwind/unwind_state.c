/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_state.h"

#include "lib/abi/log_format.h"

#include <string.h>

enum {
    MOST_KEPT = 64, /* states of ended threads; each uses some 50 KiB */
};

static struct block_pool g_states = {.block_bytes = sizeof(struct unwind_state),
                                     .most_kept = MOST_KEPT};

void unwind_state_init(void)
{
    block_pool_forget(&g_states);
}

/* Nodes and rules known to an earlier thread are valid for this one, too; its frames are not. */
struct unwind_state *unwind_state_new(struct unwind_memory *memory)
{
    struct unwind_state *state = block_pool_take(&g_states);

    if (state != NULL) {
        state->memory = memory;
        state->last_record = NULL;
        unwind_record_lend(&state->records[0], state->first_frames[0], UNWIND_FIRST_FRAMES);
        unwind_fresh_lend(&state->fresh, state->first_frames[1], UNWIND_FIRST_FRAMES);
        atomic_signal_fence(memory_order_seq_cst); /* TH-5 */
    }
    memory->state = state;
    return state;
}

void unwind_state_free(struct unwind_state *state)
{
    if (!block_pool_keeps(&g_states, state)) {
        for (unsigned i = 0; i < UNWIND_RECORDS; i++)
            unwind_record_free(&state->records[i]);
        unwind_fresh_free(&state->fresh);
    }
    block_pool_put(&g_states, state);
}

void unwind_state_reset(struct unwind_state *state, uint32_t epoch)
{
    state->epoch = epoch;
    for (unsigned i = 0; i < UNWIND_RECORDS; i++)
        unwind_record_reset(&state->records[i]);
}

/* No epoch is 0. */
void unwind_state_forget_later(const struct unwind_memory *memory)
{
    struct unwind_state *state = memory->state;

    if (state != NULL)
        state->epoch = 0;
}

void unwind_state_distrust(struct unwind_state *state)
{
    state->is_on_private_stack = false;
    state->last_record = NULL;
    memset(state->known, 0, sizeof(state->known));
    memset(state->windows, 0, sizeof(state->windows));
    state->scratch.section_module = 0;
    unwind_state_reset(state, 0);
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
