/* SPDX-License-Identifier: MIT */
/*
 * byte_loops: byte-by-byte copy and fill for processors without a better loop.
 */
#ifndef MTRACE_COLLECTOR_BYTE_LOOPS_H
#define MTRACE_COLLECTOR_BYTE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* Written so that the compiler does not replace the loops by calls of memcpy or memset, which use
 * them. */
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
