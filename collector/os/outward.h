/* SPDX-License-Identifier: MIT */
/*
 * outward: marks functions of ours that are still active while the real function runs and may call
 * code of the program.
 *
 * All other wrappers end with a jump to the real function, or return before.
 *
 *   OF-1 Frames of marked functions are left out of stacks: their callers seem to call the
 *        program's code.
 *
 * Any thread. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_OUTWARD_H
#define MTRACE_COLLECTOR_OUTWARD_H

#include <stdbool.h>
#include <stdint.h>

/* Put it before the definition. */
#define OUTWARD __attribute__((section("mtrace_outward"), noinline))

/* Defined by the linker; test programs may have none. */
extern const unsigned char __start_mtrace_outward[] __attribute__((weak, visibility("hidden")));
extern const unsigned char __stop_mtrace_outward[] __attribute__((weak, visibility("hidden")));

/* Is the code address, or the call before this return address, in a marked function? */
static inline bool outward_has(uintptr_t pc)
{
    return pc - (uintptr_t)__start_mtrace_outward
           < (uintptr_t)__stop_mtrace_outward - (uintptr_t)__start_mtrace_outward;
}

#endif
