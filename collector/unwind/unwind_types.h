/* SPDX-License-Identifier: MIT */
/*
 * unwind_types: types shared by the callers of unwind.h and its parts.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_TYPES_H
#define MTRACE_COLLECTOR_UNWIND_TYPES_H

#include "collector/arch/arch.h"

#include <stdint.h>

/* Where the program called a wrapper. */
struct unwind_origin {
    uintptr_t pc;  /* return address of the wrapper */
    uintptr_t cfa; /* stack pointer just after the wrapper returns */
    uintptr_t fp;  /* frame pointer register at the wrapper's entry */
#if !ARCH_HAS_FIXED_RA
    uintptr_t record; /* where the wrapper saved fp; pc follows */
#endif
};

/* The end of the wrapper's two words; its return address is the last word before it. */
static inline uintptr_t unwind_origin_end(const struct unwind_origin *origin)
{
#if ARCH_HAS_FIXED_RA
    return origin->cfa;
#else
    return origin->record + ARCH_FRAME_BYTES;
#endif
}

/* A thread's remembered stacks; all zero is valid and empty. Lives inside struct thread. */
struct unwind_memory {
    void *state;         /* private mapping, struct unwind_state, made on first use */
    uintptr_t stack_low; /* bounds of the thread's own stack (OS-1), 0 if unknown */
    uintptr_t stack_high;
};

#endif
