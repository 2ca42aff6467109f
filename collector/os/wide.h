/* SPDX-License-Identifier: MIT */
/*
 * wide: products of 128 bits, also for compilers without a 128-bit type.
 *
 * Any thread. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_WIDE_H
#define MTRACE_COLLECTOR_WIDE_H

#include <stdint.h>

struct wide {
    uint64_t high, low;
};

static inline struct wide wide_multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 native;
    native product = (native)a * b;

    return (struct wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    const uint64_t low_a = (uint32_t)a, high_a = a >> 32;
    const uint64_t low_b = (uint32_t)b, high_b = b >> 32;
    const uint64_t low = low_a * low_b;
    const uint64_t middle = high_a * low_b + (low >> 32);
    const uint64_t other = low_a * high_b + (uint32_t)middle;

    return (struct wide){high_a * high_b + (middle >> 32) + (other >> 32),
                         other << 32 | (uint32_t)low};
#endif
}

/* The low 64 bits of the result; n_bits: 1 to 127. */
static inline uint64_t wide_shift_right(struct wide value, unsigned n_bits)
{
    if (n_bits >= 64)
        return value.high >> (n_bits - 64);
    return value.high << (64 - n_bits) | value.low >> n_bits;
}

/* The low 64 bits of the quotient; divisor is not 0. */
static inline uint64_t wide_divide(struct wide value, uint64_t divisor)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 native;

    return (uint64_t)(((native)value.high << 64 | value.low) / divisor);
#else
    uint64_t rest = value.high % divisor;
    uint64_t quotient = 0;

    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t overflow = rest >> 63;
        rest = rest << 1 | (value.low >> bit & 1);
        quotient <<= 1;
        if (overflow || rest >= divisor) {
            rest -= divisor;
            quotient |= 1;
        }
    }
    return quotient;
#endif
}

#endif
