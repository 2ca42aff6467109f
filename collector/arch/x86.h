/* SPDX-License-Identifier: MIT */
/*
 * x86: what x86-64 and i386 have in common.
 */
#ifndef MTRACE_COLLECTOR_X86_H
#define MTRACE_COLLECTOR_X86_H

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- stacks ---------------------------------------------------------------------------------- */

enum {
    ARCH_RA_AT_CFA = -(int)sizeof(uintptr_t), /* where `call` leaves the return address */
    ARCH_RA_BEHIND_FP = 0,                    /* unused: the call instruction saves it */
    ARCH_RECORD_AT_FP = 0,                    /* where the frame pointer leads: those two words */
    ARCH_CODE_SHIFT = 0,       /* low bits of an instruction's address that are always 0 */
    ARCH_CFI_OP_SIGNS_RA = -1, /* there is no such instruction of CFI */
};

#define ARCH_HAS_FIXED_RA      1 /* ARCH_RA_AT_CFA holds for every function */
#define ARCH_RECORD_ENDS_FRAME 1 /* the caller's frame follows the two words */

/* The register of the return address after a call: none. */
#define ARCH_LINK_REGISTERS ((uint64_t)0)

/* The address in a word that holds a return address. */
static inline uintptr_t arch_code_address(uintptr_t word)
{
    return word;
}

/* The two words of the frame of the function that uses this, which has a frame pointer; and its
 * CFA. */
#define ARCH_RECORD() ((uintptr_t)__builtin_frame_address(0))
#define ARCH_CFA()    (ARCH_RECORD() + ARCH_FRAME_BYTES)

/* ---- the counter ----------------------------------------------------------------------------- */

/* A bit of edx of an extended leaf. */
static inline bool arch_has_feature(unsigned leaf, unsigned bit)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;

    return __get_cpuid(leaf, &a, &b, &c, &d) && d >> bit & 1;
}

/* The kernel's names for it, and for a clock based on it if it is invariant. */
#define ARCH_COUNTER_SOURCES "tsc\n", "hyperv_clocksource_tsc_page\n"
#define ARCH_STABLE_SOURCE   "kvm-clock\n"

/* Both instructions to read it exist. */
static inline bool arch_has_counter(void)
{
    return arch_has_feature(0x80000001u, 27); /* rdtscp */
}

static inline bool arch_is_counter_invariant(void)
{
    return arch_has_feature(0x80000007u, 8);
}

static inline uint64_t arch_counter(void)
{
    return __builtin_ia32_rdtsc();
}

/* Reads it after all earlier instructions are done. */
static inline uint64_t arch_counter_after(void)
{
    unsigned processor;

    return __builtin_ia32_rdtscp(&processor);
}

#define ARCH_MAX_PAGE_BYTES 4096

/* ---- bytes ----------------------------------------------------------------------------------- */

#define ARCH_HAS_BLOCK_COPY 1

/* No loops: the compiler would make them calls of memcpy and memset, which use these. */
static inline void arch_copy(void *to, const void *from, size_t size_bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size_bytes) : : "memory");
}

static inline void arch_fill(void *to, int value, size_t size_bytes)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size_bytes) : "a"(value) : "memory");
}

#endif
