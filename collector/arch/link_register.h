/* SPDX-License-Identifier: MIT */
/*
 * link_register: what processors have in common whose calls leave the return address in a register.
 * Of the two words of a frame the second is the return address.
 */
#ifndef MTRACE_COLLECTOR_LINK_REGISTER_H
#define MTRACE_COLLECTOR_LINK_REGISTER_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ARCH_RA_BEHIND_FP = sizeof(uintptr_t), /* of a function that saves both, at least */
    ARCH_RED_ZONE_BYTES = 0,
};

#define ARCH_HAS_FIXED_RA 0 /* a function saves its return address where it likes */
#define ARCH_CFA()        ((uintptr_t)__builtin_dwarf_cfa())

#ifndef ARCH_OTHER_MACHINE
/* Programs of the other width of words, which the same kernels run (life/exec_target.h); EM_NONE: there are none we record. */
#    define ARCH_TRIPLET       ""
#    define ARCH_OTHER_TRIPLET ""
#    define ARCH_OTHER_MACHINE EM_NONE
#endif

#define ARCH_STABLE_SOURCE "" /* no clock is made of the counter but the one named after it */

#ifndef ARCH_HAS_STACK_BOTTOM
/* What makecontext lets a function return to, and no CFI says so: libc has CFI there. */
static inline bool arch_is_stack_bottom(const uint8_t code[8])
{
    (void)code;
    return false;
}
#endif

/* Part of the architecture, but for some. */
#ifndef ARCH_HAS_COUNTER
#    define ARCH_HAS_COUNTER true
#endif

static inline bool arch_has_counter(void)
{
    return ARCH_HAS_COUNTER;
}

/* It never stands still or changes its rate: the architecture says so. */
static inline bool arch_is_counter_invariant(void)
{
    return ARCH_HAS_COUNTER;
}

#if !ARCH_HAS_COUNTER
static inline uint64_t arch_counter(void)
{
    return 0;
}

static inline uint64_t arch_counter_after(void)
{
    return 0;
}
#endif

#endif
