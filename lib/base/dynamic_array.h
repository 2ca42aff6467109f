/* SPDX-License-Identifier: MIT */
/*
 * dynamic_array: arrays that grow by doubling.
 */
#ifndef MTRACE_LIB_DYNAMIC_ARRAY_H
#define MTRACE_LIB_DYNAMIC_ARRAY_H

#include <stddef.h>

void *dynamic_array_reserve_slow(void *array, size_t *capacity, size_t n_needed,
                                 size_t element_bytes);

/*
 * Returns the array with space for n_needed (>= 1) elements; it may have moved. New space is
 * zeroed. *capacity counts elements. Returns NULL without memory and leaves the array unchanged.
 */
static inline void *dynamic_array_reserve(void *array, size_t *capacity, size_t n_needed,
                                          size_t element_bytes)
{
    return n_needed <= *capacity
               ? array
               : dynamic_array_reserve_slow(array, capacity, n_needed, element_bytes);
}

#endif
