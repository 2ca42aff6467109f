/* SPDX-License-Identifier: MIT */
#include "support/lifetime_class.h"

/* Bound 0 is 0, bound 1 is 100 ns, then 200, 500, 1000, … */
static uint64_t bound_of(unsigned index)
{
    static const uint64_t steps[] = {1, 2, 5};
    uint64_t bound = LIFETIME_CLASS_FIRST_NS;

    if (index == 0)
        return 0;
    for (unsigned decade = 0; decade < (index - 1) / 3; decade++)
        bound *= 10;
    return bound * steps[(index - 1) % 3];
}

void lifetime_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to)
{
    *ret_from = bound_of(index);
    *ret_to = index == LIFETIME_CLASSES - 1 ? INT64_MAX : bound_of(index + 1);
}
