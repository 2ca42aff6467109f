/* SPDX-License-Identifier: MIT */
/*
 * growing: arrays that grow by doubling.
 *
 * Threads: none of its own.
 * Failure: growing_reserve returns NULL without memory and leaves the array as it was.
 */
#ifndef MTRACE_LIB_GROWING_H
#define MTRACE_LIB_GROWING_H

#include <stddef.h>

void *growing_reserve_slow(void *array, size_t *capacity, size_t n_needed, size_t element_bytes);

/*
 * The array with room for n_needed elements, moved when it had to grow; new room is zeroed.
 * *capacity counts elements. n_needed >= 1.
 */
static inline void *growing_reserve(void *array, size_t *capacity, size_t n_needed,
                                    size_t element_bytes)
{
    return n_needed <= *capacity ? array
                                 : growing_reserve_slow(array, capacity, n_needed, element_bytes);
}

#endif
