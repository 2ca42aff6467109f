/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_stack.h"

#include "collector/os/sys.h"

enum {
    ROOM_BYTES = 8192 /* of the program's stack that must be left: four times what is needed */
};

/* An alternate signal stack may be a piece of the thread's own: its low end is the nearer one. */
static bool has_room(const struct unwind_memory *memory, uintptr_t here)
{
    return here >= memory->stack_low + ROOM_BYTES && here < memory->stack_high
           && !sys_is_on_signal_stack();
}

/*
 * No handler of the program may find itself on our stack: one that stops threads and scans their
 * stacks would miss all of this one, and one with large variables would overrun ours. Nor may one
 * with SA_ONSTACK start at the top of an alternate stack that we came from. So signals are blocked
 * while the stack pointer is elsewhere. Where system calls are forbidden, stay: a stack with too
 * little room is the lesser risk.
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
