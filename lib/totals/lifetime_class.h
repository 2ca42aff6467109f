/* SPDX-License-Identifier: MIT */
/*
 * lifetime_class: classes of lifetimes for histograms: below 100 ns, then up to 200, 500, 1000, …
 * ns.
 *
 *   LT-1 Every lifetime is in exactly one class, whose bounds include it. The last class has no
 *        upper bound.
 *
 * Cannot fail.
 */
#ifndef MTRACE_LIB_LIFETIME_CLASS_H
#define MTRACE_LIB_LIFETIME_CLASS_H

#include <stdint.h>

enum {
    LIFETIME_CLASSES = 40,
    LIFETIME_CLASS_FIRST_NS = 100 /* class 0 ends here */
};

extern const uint64_t lifetime_class_ends[LIFETIME_CLASSES]; /* without the last class */
extern const uint8_t lifetime_class_of_power[64];            /* the class of 2^i */

/* Called for each freed block: a loop over all classes took a tenth of the time of an event. */
static inline unsigned lifetime_class_of(uint64_t lifetime_ns)
{
    unsigned index = lifetime_class_of_power[63 - __builtin_clzll(lifetime_ns | 1)];

    while (index < LIFETIME_CLASSES - 1 && lifetime_ns >= lifetime_class_ends[index])
        index++;
    return index;
}

/* from <= lifetime < to. */
void lifetime_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to);

#endif
