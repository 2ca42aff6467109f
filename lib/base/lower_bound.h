/* SPDX-License-Identifier: MIT */
/*
 * lower_bound: where in a sorted array the elements end that stand before something.
 *
 * Model: LOWER_BOUND(index, n, is_before) sets `index`, a variable of the caller, to the first of 0 to n - 1 for which
 *        `is_before`, an expression about `index`, is false; to n where it is true for all. The expression is written
 *        out where it is asked, so that it costs what a loop by hand costs, whatever the elements are.
 * Invariants: LB-1 the expression holds for none behind one for which it does not.
 * Failure: none.
 */
#ifndef MTRACE_LIB_LOWER_BOUND_H
#define MTRACE_LIB_LOWER_BOUND_H

#include <stddef.h>

/* An index that is assigned takes no parentheses. */
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
