/* SPDX-License-Identifier: MIT */
#include "collector/record/sampler.h"

#include "collector/platform/sys.h"

#include <stdatomic.h>
#include <time.h>

enum {
    FRACTION_BITS = 32
};

__extension__ typedef unsigned __int128 wide;

static const uint64_t LN2 = 2977044472; /* ln 2 in units of 2^-32 */
static const uint64_t GOLDEN = 0x9e3779b97f4a7c15u;

_Thread_local struct sampler g_sampler;

static uint64_t g_mean_bytes, g_seed; /* written before there is an event */
static _Atomic uint32_t g_epoch;
static _Atomic uint64_t g_n_threads;

/* ---- numbers ---- */

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/* xorshift64*; never 0. */
static uint64_t next_number(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}

/* log2 of x / 2^63, for x from 2^63 on, in units of 2^-32: squaring shows one bit of it after the other. */
static uint64_t log2_fraction(uint64_t x)
{
    uint64_t bits = 0;

    for (int i = 0; i < FRACTION_BITS; i++) {
        wide square = (wide)x * x;
        unsigned is_above = (unsigned)(square >> 127);
        bits = bits << 1 | is_above;
        x = (uint64_t)(square >> (63 + is_above));
    }
    return bits;
}

/* -ln(u) * mean for u = x / 2^64, which is uniform between 0 and 1; rounded up, as a byte is drawn whole. */
uint64_t sampler_interval(uint64_t mean_bytes, uint64_t *state)
{
    uint64_t x = next_number(state);
    unsigned n_zeros = (unsigned)__builtin_clzll(x);
    uint64_t log2 = ((uint64_t)(n_zeros + 1) << FRACTION_BITS) - log2_fraction(x << n_zeros);
    wide ln = (wide)log2 * LN2;

    return (uint64_t)(((ln >> FRACTION_BITS) * mean_bytes) >> FRACTION_BITS) + 1;
}

/* ---- threads ---- */

void sampler_begin(uint64_t mean_bytes, uint64_t seed)
{
    uint32_t epoch = atomic_load_explicit(&g_epoch, memory_order_relaxed) + 1;

    g_mean_bytes = mean_bytes;
    g_seed = seed ? seed + epoch : 0;
    if (!seed && sys_random(&g_seed, sizeof(g_seed)) != (long)sizeof(g_seed))
        g_seed = mix(sys_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)sys_getpid() << 32);
    atomic_store_explicit(&g_n_threads, 0, memory_order_relaxed);
    atomic_store_explicit(&g_epoch, epoch, memory_order_release);
}

static void seed_thread(struct sampler *sampler, uint32_t epoch)
{
    uint64_t number = atomic_fetch_add_explicit(&g_n_threads, 1, memory_order_relaxed) + 1;
    uint64_t state = mix(g_seed + number * GOLDEN);

    sampler->epoch = epoch;
    sampler->state = state ? state : GOLDEN;
}

/* A fork child goes on with what is left of its parent's countdown, but not with its parent's numbers. */
MTRACE_COLD bool sampler_draw(int64_t size_bytes)
{
    struct sampler *sampler = &g_sampler;
    uint32_t epoch = atomic_load_explicit(&g_epoch, memory_order_acquire);
    bool is_first = sampler->state == 0;

    if (sampler->epoch != epoch)
        seed_thread(sampler, epoch);
    if (is_first) { /* nothing was left to count down yet */
        sampler->left = (int64_t)sampler_interval(g_mean_bytes, &sampler->state) - size_bytes;
        if (sampler->left > 0)
            return false;
    }
    sampler->left = (int64_t)sampler_interval(g_mean_bytes, &sampler->state);
    return true;
}
