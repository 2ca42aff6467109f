/* SPDX-License-Identifier: MIT */
/*
 * growing: arrays that grow by doubling.
 *
 * Threads: none of its own.
 * Failure: dynamic_array_reserve returns NULL without memory and leaves the array as it was.
 */
#ifndef MTRACE_LIB_DYNAMIC_ARRAY_H
#define MTRACE_LIB_DYNAMIC_ARRAY_H

#include <stddef.h>

void *dynamic_array_reserve_slow(void *array, size_t *capacity, size_t n_needed,
                                 size_t element_bytes);

/*
 * The array with room for n_needed elements, moved when it had to grow; new room is zeroed.
 * *capacity counts elements. n_needed >= 1.
 */
static inline void *dynamic_array_reserve(void *array, size_t *capacity, size_t n_needed,
                                          size_t element_bytes)
{
    return n_needed <= *capacity
               ? array
               : dynamic_array_reserve_slow(array, capacity, n_needed, element_bytes);
}

#endif
