/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_stack.h"

#include "collector/os/sys.h"

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
