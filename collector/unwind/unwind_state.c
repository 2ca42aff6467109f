/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_state.h"

#include "collector/os/sys.h"
#include "lib/abi/log_format.h"

#include <string.h>

enum {
    MAX_KEPT = 64, /* states of ended threads; each uses some 50 KiB */
};

static struct block_pool g_states = {.block_bytes = sizeof(struct unwind_state),
                                     .max_kept = MAX_KEPT};

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

enum {
    ROOM_BYTES = 8192 /* free bytes required on the program's stack: four times the need */
};

/* An alternate signal stack may be part of the thread's own: the nearer low end counts. */
static bool has_room(const struct unwind_memory *memory, uintptr_t here)
{
    return here >= memory->stack_low + ROOM_BYTES && here < memory->stack_high
           && !sys_is_on_signal_stack();
}

/*
 * No handler of the program may run on our stack. One that stops threads and scans their stacks
 * would miss the thread's own stack. One with large variables would overrun ours. One with
 * SA_ONSTACK could start at the top of an alternate stack that is in use. So signals are blocked
 * while the stack pointer is on ours. Where system calls are forbidden, stay on the program's
 * stack: too little space is the lesser risk.
 */
void unwind_stack_run(struct unwind_state *state, void (*function)(void *state))
{
    struct sys_signals mask;

    if (state->is_on_private_stack || has_room(state->memory, (uintptr_t)__builtin_frame_address(0))
        || sys_block_signals(&mask) < 0) {
        function(state);
        return;
    }
    state->is_on_private_stack = true;
    arch_call_on_stack(function, state, state->private_stack + sizeof(state->private_stack));
    state->is_on_private_stack = false;
    sys_unblock_signals(mask);
}
