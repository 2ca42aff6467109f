/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_stack.h"

#include "collector/platform/sys.h"

/*
 * While the stack pointer is on our stack, a handler with SA_ONSTACK may start at the top of the
 * alternate stack. If we came from there, that would overwrite live frames: block signals then.
 * Where system calls are forbidden, stay: a handler that uses more stack than planned is the lesser
 * risk.
 */
void unwind_stack_run(struct unwind_state *state, void (*function)(void *state))
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
