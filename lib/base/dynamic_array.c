/* SPDX-License-Identifier: MIT */
#include "lib/base/dynamic_array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_ELEMENTS = 16
};

void *dynamic_array_reserve_slow(void *array, size_t *capacity, size_t n_needed,
                                 size_t element_bytes)
{
    size_t bigger = *capacity ? *capacity : FIRST_ELEMENTS;
    char *moved;

    if (n_needed > SIZE_MAX / 2 / element_bytes)
        return NULL;
    while (bigger < n_needed)
        bigger *= 2;
    moved = realloc(array, bigger * element_bytes);
    if (!moved)
        return NULL;
    memset(moved + *capacity * element_bytes, 0, (bigger - *capacity) * element_bytes);
    *capacity = bigger;
    return moved;
}
