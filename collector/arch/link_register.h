/* SPDX-License-Identifier: MIT */
/*
 * link_register: common parts of processors whose calls leave the return address in a register.
 *
 * The second of the two words of a frame is the return address.
 */
#ifndef MTRACE_COLLECTOR_LINK_REGISTER_H
#define MTRACE_COLLECTOR_LINK_REGISTER_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ARCH_RA_BEHIND_FP = sizeof(uintptr_t), /* at least, if a function saves both */
    ARCH_RED_ZONE_BYTES = 0,
};

#define ARCH_HAS_FIXED_RA 0 /* a function may save its return address anywhere */
#define ARCH_CFA()        ((uintptr_t)__builtin_dwarf_cfa())

#ifndef ARCH_OTHER_MACHINE
/* Programs of the other word size on the same kernels (process/exec_target.h); EM_NONE: none that
 * we record. */
#    define ARCH_TRIPLET       ""
#    define ARCH_OTHER_TRIPLET ""
#    define ARCH_OTHER_MACHINE EM_NONE
#endif

#define ARCH_STABLE_SOURCE "" /* only the clock source named after the counter uses it */

#ifndef ARCH_HAS_STACK_BOTTOM
/* The return address set by makecontext, for a libc without CFI there. This libc has CFI. */
static inline bool arch_is_stack_bottom(const uint8_t code[8])
{
    (void)code;
    return false;
}
#endif

/* Part of most of these architectures. */
#ifndef ARCH_HAS_COUNTER
#    define ARCH_HAS_COUNTER true
#endif

static inline bool arch_has_counter(void)
{
    return ARCH_HAS_COUNTER;
}

/* The architecture guarantees that it never stops or changes its rate. */
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
