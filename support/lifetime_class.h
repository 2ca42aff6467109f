/* SPDX-License-Identifier: MIT */
/*
 * lifetime_class: the classes of lifetimes that histograms have: below 100 ns, then up to 200, 500, 1000, … ns.
 *
 * Invariants
 *   LT-1 Every lifetime is in the one class whose bounds hold it; the last one has all that are longer.
 * Failure: none.
 */
#ifndef MTRACE_SUPPORT_LIFETIME_CLASS_H
#define MTRACE_SUPPORT_LIFETIME_CLASS_H

#include <stdint.h>

enum {
    LIFETIME_CLASSES = 40,
    LIFETIME_CLASS_FIRST_NS = 100 /* class 0 ends here */
};

static inline unsigned lifetime_class_of(uint64_t lifetime_ns)
{
    static const uint64_t steps[] = {1, 2, 5};
    uint64_t decade = LIFETIME_CLASS_FIRST_NS;
    unsigned index = 0;

    while (index < LIFETIME_CLASSES - 1) {
        if (lifetime_ns < decade * steps[index % 3])
            return index;
        if (++index % 3 == 0)
            decade *= 10;
    }
    return index;
}

/* from <= lifetime < to. */
void lifetime_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to);

#endif
