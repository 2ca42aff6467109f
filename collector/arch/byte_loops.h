/* SPDX-License-Identifier: MIT */
/*
 * byte_loops: copying and filling for processors that we have no better loop for, byte by byte.
 */
#ifndef MTRACE_COLLECTOR_BYTE_LOOPS_H
#define MTRACE_COLLECTOR_BYTE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* Loops that the compiler cannot take for the functions that are made of them. */
static inline void arch_copy(void *to, const void *from, size_t size_bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    for (size_t i = 0; i < size_bytes; i++) {
        out[i] = in[i];
        __asm__ volatile("" : : : "memory");
    }
}

static inline void arch_fill(void *to, int value, size_t size_bytes)
{
    uint8_t *out = to;

    for (size_t i = 0; i < size_bytes; i++) {
        out[i] = (uint8_t)value;
        __asm__ volatile("" : : : "memory");
    }
}

#endif
