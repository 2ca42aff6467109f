/* SPDX-License-Identifier: MIT */
/*
 * saturating: 64-bit arithmetic that stops at the limits instead of overflowing. For numbers from
 * files, which may have any value.
 */
#ifndef MTRACE_LIB_SATURATING_H
#define MTRACE_LIB_SATURATING_H

#include <stdint.h>

static inline int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b < 0 ? INT64_MIN : INT64_MAX;
}

static inline void saturating_grow(int64_t *sum, int64_t value)
{
    *sum = saturating_add(*sum, value);
}

static inline int64_t saturating_subtract(int64_t a, int64_t b)
{
    int64_t difference;

    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t saturating_multiply(int64_t a, int64_t b)
{
    int64_t product;

    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

#endif
