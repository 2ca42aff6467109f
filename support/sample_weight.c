/* SPDX-License-Identifier: MIT */
#include "support/sample_weight.h"

#include <math.h>

static const double Z95 = 1.959963984540054; /* of the normal distribution */

/* Uniform between 0 and 1. */
static double uniform(uint64_t salt)
{
    salt += 0x9e3779b97f4a7c15u;
    salt = (salt ^ salt >> 30) * 0xbf58476d1ce4e5b9u;
    salt = (salt ^ salt >> 27) * 0x94d049bb133111ebu;
    salt ^= salt >> 31;
    return (double)(salt >> 11) * 0x1p-53;
}

struct sample_weight sample_weight_estimate(uint64_t mean_bytes, uint64_t size_bytes, uint64_t salt)
{
    double size = (double)size_bytes;
    double missed = exp(-(size_bytes ? size : 1) / (double)mean_bytes);
    double drawn = -expm1(-(size_bytes ? size : 1) / (double)mean_bytes);
    double blocks = 1 / drawn;
    double part = blocks - floor(blocks);
    double variance = missed / (drawn * drawn);

    return (struct sample_weight){
        .blocks = (uint64_t)blocks + (uniform(salt ^ size_bytes << 48) < part),
        .bytes = size_bytes ? (uint64_t)(size * blocks + 0.5) : 0,
        .blocks_variance = variance + part * (1 - part),
        .bytes_variance = size * size * variance,
    };
}

double sample_weight_margin(double variance)
{
    return variance > 0 ? Z95 * sqrt(variance) : 0;
}
