/* SPDX-License-Identifier: MIT */
/*
 * growing: arrays that grow by doubling.
 *
 * Threads: none of its own.
 * Failure: growing_reserve returns NULL without memory and leaves the array as it was.
 */
#ifndef MTRACE_SUPPORT_GROWING_H
#define MTRACE_SUPPORT_GROWING_H

#include <stddef.h>

/*
 * The array with room for n_needed elements, moved when it had to grow; new room is zeroed.
 * *capacity counts elements. n_needed >= 1.
 */
void *growing_reserve(void *array, size_t *capacity, size_t n_needed, size_t element_bytes);

#endif
