/* SPDX-License-Identifier: MIT */
#include "lib/totals/sample_weight.h"

#include <math.h>

static const double Z95 = 1.959963984540054; /* quantile of the normal distribution */

/* Uniform between 0 and 1. */
static double uniform(uint64_t salt)
{
    salt += 0x9e3779b97f4a7c15u;
    salt = (salt ^ salt >> 30) * 0xbf58476d1ce4e5b9u;
    salt = (salt ^ salt >> 27) * 0x94d049bb133111ebu;
    salt ^= salt >> 31;
    return (double)(salt >> 11) * 0x1p-53;
}

/* 1 / p */
static double inverse(uint64_t mean_bytes, uint64_t size_bytes)
{
    return -1 / expm1(-(size_bytes ? (double)size_bytes : 1) / (double)mean_bytes);
}

/* Decides whether 1 / p is rounded up. */
static bool draw(double blocks, uint64_t size_bytes, uint64_t salt)
{
    return uniform(salt ^ size_bytes << 48) < blocks - floor(blocks);
}

static struct sample_weight weigh(uint64_t mean_bytes, uint64_t size_bytes, double blocks,
                                  bool is_above)
{
    double size = (double)size_bytes;
    double missed = exp(-(size_bytes ? size : 1) / (double)mean_bytes);
    double part = blocks - floor(blocks);
    double variance = missed * blocks * blocks;

    return (struct sample_weight){
        .blocks = (uint64_t)blocks + is_above,
        .bytes = size_bytes ? (uint64_t)(size * blocks + 0.5) : 0,
        .blocks_variance = variance + part * (1 - part),
        .bytes_variance = size * size * variance,
    };
}

bool sample_weight_is_above(uint64_t mean_bytes, uint64_t size_bytes, uint64_t salt)
{
    return draw(inverse(mean_bytes, size_bytes), size_bytes, salt);
}

struct sample_weight sample_weight_estimate(uint64_t mean_bytes, uint64_t size_bytes, uint64_t salt)
{
    double blocks = inverse(mean_bytes, size_bytes);

    return weigh(mean_bytes, size_bytes, blocks, draw(blocks, size_bytes, salt));
}

struct sample_weight sample_weight_noted(uint64_t mean_bytes, uint64_t size_bytes, bool is_above)
{
    return weigh(mean_bytes, size_bytes, inverse(mean_bytes, size_bytes), is_above);
}

double sample_weight_margin(double variance)
{
    return variance > 0 ? Z95 * sqrt(variance) : 0;
}
