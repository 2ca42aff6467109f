/* SPDX-License-Identifier: MIT */
/*
 * lower_bound: binary search.
 *
 * LOWER_BOUND(index, n, is_before) sets `index`, a variable of the caller, to the first of 0..n-1
 * for which the expression `is_before` (about `index`) is false, or to n. Once false, it must stay
 * false for all larger indexes.
 */
#ifndef MTRACE_LIB_LOWER_BOUND_H
#define MTRACE_LIB_LOWER_BOUND_H

#include <stddef.h>

/* `index` is assigned, so it cannot have parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define LOWER_BOUND(index, n, is_before)                                        \
    do {                                                                        \
        size_t lower_bound_low = 0;                                             \
        size_t lower_bound_high = (n);                                          \
                                                                                \
        while (lower_bound_low < lower_bound_high) {                            \
            index = lower_bound_low + (lower_bound_high - lower_bound_low) / 2; \
            if (is_before)                                                      \
                lower_bound_low = index + 1;                                    \
            else                                                                \
                lower_bound_high = index;                                       \
        }                                                                       \
        index = lower_bound_low;                                                \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
