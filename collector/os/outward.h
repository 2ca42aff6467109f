/* SPDX-License-Identifier: MIT */
/*
 * outward: functions of ours that are not done when the real one is called, where what the program wrote may run meanwhile. Others end with a jump
 * to it, or return before.
 *
 * Invariants
 *   OF-1 Their frames are in no stack: what they called seems to be called by who called them.
 * Threads: any. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_OUTWARD_H
#define MTRACE_COLLECTOR_OUTWARD_H

#include <stdbool.h>
#include <stdint.h>

/* Of the definition. */
#define OUTWARD __attribute__((section("mtrace_outward"), noinline))

/* By the linker; in programs of tests there may be none. */
extern const unsigned char __start_mtrace_outward[] __attribute__((weak, visibility("hidden")));
extern const unsigned char __stop_mtrace_outward[] __attribute__((weak, visibility("hidden")));

/* Does the code there, or the call behind which it is, lie in one? */
static inline bool outward_has(uintptr_t pc)
{
    return pc - (uintptr_t)__start_mtrace_outward
           < (uintptr_t)__stop_mtrace_outward - (uintptr_t)__start_mtrace_outward;
}

#endif
