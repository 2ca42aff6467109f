/* SPDX-License-Identifier: MIT */
/*
 * sample_weight: what a block stands for that was recorded because it was drawn (log_file.sample_bytes).
 *
 * Model:   a block of s bytes was drawn with probability p = 1 - exp(-s / mean), one of no bytes as if it had one. So it stands
 *          for 1 / p blocks and s / p bytes (Horvitz and Thompson's estimator), and sums of these are unbiased estimates
 *          whatever the sizes are. Blocks are drawn independently, so what each adds to the variance of a sum is added up, too.
 * Invariants
 *   SW-1 Blocks and bytes are whole, so that sums of parts are the sums of the whole; where 1 / p is not, the block counts as the next
 *        number above with the probability that makes the mean right, decided by its salt. That is in the variance.
 *   SW-2 The same mean, size and salt give the same weight. A salt is what stays as it is for ever: no time, which is known better at
 *        the end of a recording.
 *   SW-3 A weight is at least the block itself.
 * Threads: any. Failure: none.
 */
#ifndef MTRACE_LIB_SAMPLE_WEIGHT_H
#define MTRACE_LIB_SAMPLE_WEIGHT_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct sample_weight {
    uint64_t blocks, bytes;
    double blocks_variance, bytes_variance; /* what it adds to those of a sum that it is in */
};

struct sample_weight sample_weight_estimate(uint64_t mean_bytes, uint64_t size_bytes,
                                            uint64_t salt);

/* Does it count as the whole number above (SW-1)? */
bool sample_weight_is_above(uint64_t mean_bytes, uint64_t size_bytes, uint64_t salt);

/* The same weight, where that was noted. */
struct sample_weight sample_weight_noted(uint64_t mean_bytes, uint64_t size_bytes, bool is_above);

/* mean 0: blocks are no samples. */
static inline struct sample_weight sample_weight_of(uint64_t mean_bytes, uint64_t size_bytes,
                                                    uint64_t salt)
{
    if (mtrace_unlikely(mean_bytes != 0))
        return sample_weight_estimate(mean_bytes, size_bytes, salt);
    return (struct sample_weight){.blocks = 1, .bytes = size_bytes};
}

/* Half of the width of the interval that has the truth in it in 95 of 100 recordings. */
double sample_weight_margin(double variance);

#endif
