/* SPDX-License-Identifier: MIT */
/*
 * sample_weight: the weight of a sampled block (log_header.sample_bytes).
 *
 * A block of s bytes is drawn with probability p = 1 - exp(-s / mean); s = 0 counts as 1. Its
 * weight is 1 / p blocks and s / p bytes (the Horvitz-Thompson estimator), so sums of weights are
 * unbiased. Draws are independent, so the variance of a sum is the sum of the variances.
 *
 *   SW-1 Weights are integers, so that sums of parts add up. 1 / p is rounded up or down at random,
 *        decided by the salt, such that its mean is right. The variance includes this.
 *   SW-2 The same mean, size and salt give the same weight. A salt never changes during a
 *        recording.
 *   SW-3 A weight is at least the block itself.
 */
#ifndef MTRACE_LIB_SAMPLE_WEIGHT_H
#define MTRACE_LIB_SAMPLE_WEIGHT_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct sample_weight {
    uint64_t blocks, bytes;
    double blocks_variance, bytes_variance;
};

struct sample_weight sample_weight_estimate(uint64_t mean_bytes, uint64_t size_bytes,
                                            uint64_t salt);

/* 1 / p is rounded up (SW-1). */
bool sample_weight_is_above(uint64_t mean_bytes, uint64_t size_bytes, uint64_t salt);

/* The weight, given how 1 / p was rounded. */
struct sample_weight sample_weight_noted(uint64_t mean_bytes, uint64_t size_bytes, bool is_above);

/* mean_bytes 0: every block was recorded. */
static inline struct sample_weight sample_weight_of(uint64_t mean_bytes, uint64_t size_bytes,
                                                    uint64_t salt)
{
    if (mtrace_unlikely(mean_bytes != 0))
        return sample_weight_estimate(mean_bytes, size_bytes, salt);
    return (struct sample_weight){.blocks = 1, .bytes = size_bytes};
}

/* Half the width of the 95 % confidence interval. */
double sample_weight_margin(double variance);

#endif
