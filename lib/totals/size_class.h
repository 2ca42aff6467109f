/* SPDX-License-Identifier: MIT */
/*
 * size_class: classes of requested sizes for histograms: 0; then steps of 16 up to 128; then four
 * steps per doubling.
 *
 *   SZ-1 Every size is in exactly one class, whose bounds include it. So is the mean of sizes of a
 *        class.
 *
 * Cannot fail.
 */
#ifndef MTRACE_LIB_SIZE_CLASS_H
#define MTRACE_LIB_SIZE_CLASS_H

#include <stdint.h>

enum {
    SIZE_CLASSES = 237
};

unsigned size_class_of(uint64_t size_bytes);

/* Both included. */
void size_class_bounds(unsigned index, uint64_t *ret_from, uint64_t *ret_to);

#endif
