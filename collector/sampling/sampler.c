/* SPDX-License-Identifier: MIT */
#include "collector/sampling/sampler.h"

#include "collector/arch/arch.h"
#include "collector/os/clock.h"
#include "collector/os/sys.h"
#include "collector/os/wide.h"

#include <sys/mman.h>
#include <time.h>

enum {
    FRACTION_BITS = 32
};

static const uint64_t LN2 = 2977044472; /* ln 2 in units of 2^-32 */
static const uint64_t GOLDEN = 0x9e3779b97f4a7c15u;

_Thread_local struct sampler g_sampler;

struct sampler_page g_sampler_page;

static _Atomic bool g_has_begun;
static uint64_t g_mean_bytes, g_seed; /* written before the first event */
static uint64_t g_lineage;            /* 0: no fork child; else different from all siblings */
static uint32_t g_last_epoch;         /* inherited by fork children, so that theirs are new */
static _Atomic uint64_t g_n_threads, g_n_forks;

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

/* log2 of x / 2^63 for x >= 2^63, in units of 2^-32. Each squaring yields one bit. */
static uint64_t log2_fraction(uint64_t x)
{
    uint64_t bits = 0;

    for (int i = 0; i < FRACTION_BITS; i++) {
        struct wide square = wide_multiply(x, x);
        unsigned is_above = (unsigned)(square.high >> 63);
        bits = bits << 1 | is_above;
        x = wide_shift_right(square, 63 + is_above);
    }
    return bits;
}

/* -ln(u) * mean for u = x / 2^64, which is uniform in (0, 1). Rounded up: bytes are drawn whole. */
uint64_t sampler_interval(uint64_t mean_bytes, uint64_t *state)
{
    uint64_t x = next_number(state);
    unsigned n_zeros = (unsigned)__builtin_clzll(x);
    uint64_t log2 = ((uint64_t)(n_zeros + 1) << FRACTION_BITS) - log2_fraction(x << n_zeros);
    uint64_t ln = wide_shift_right(wide_multiply(log2, LN2), FRACTION_BITS);

    return wide_shift_right(wide_multiply(ln, mean_bytes), FRACTION_BITS) + 1;
}

/* ---- processes ---- */

/* All threads seed again. */
static void begin_epoch(void)
{
    atomic_store_explicit(&g_n_threads, 0, memory_order_relaxed);
    atomic_store_explicit(&g_sampler_page.epoch, ++g_last_epoch, memory_order_release);
}

/* If the kernel does not clear the page, only forks through our wrappers are detected. */
void sampler_begin(uint64_t mean_bytes, uint64_t seed)
{
    if (!atomic_load_explicit(&g_has_begun, memory_order_relaxed))
        (void)sys_advise(&g_sampler_page, sizeof(g_sampler_page), MADV_WIPEONFORK);
    g_mean_bytes = mean_bytes;
    g_seed = seed;
    if (!seed && sys_random(&g_seed, sizeof(g_seed)) != (long)sizeof(g_seed))
        g_seed = mix(sys_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)sys_getpid() << 32);
    begin_epoch();
    atomic_store_explicit(&g_has_begun, true, memory_order_release);
}

/* A fork without a number (no wrapper saw it) uses the time and the PID. */
static void begin_in_child(void)
{
    uint64_t number = g_sampler.fork;

    if (number == 0)
        number = clock_ticks_after() ^ (sys_is_forbidden() ? 0 : (uint64_t)sys_getpid() << 40);
    g_sampler.fork = 0;
    g_lineage = mix(g_lineage + number * GOLDEN);
    if (atomic_load_explicit(&g_has_begun, memory_order_acquire))
        begin_epoch();
}

void sampler_fork_begins(void)
{
    g_sampler.fork = atomic_fetch_add_explicit(&g_n_forks, 1, memory_order_relaxed) + 1;
}

/* In the child, a pthread_atfork handler may have done this already. */
void sampler_fork_ended(bool is_child)
{
    if (is_child && g_sampler.fork != 0)
        begin_in_child();
    g_sampler.fork = 0;
}

/* ---- threads ---- */

/* Stores the epoch last: a handler that runs before seeds for itself, and a siglongjmp leaves
 * nothing half done. */
static void seed_thread(struct sampler *sampler, uint32_t epoch)
{
    uint64_t number = atomic_fetch_add_explicit(&g_n_threads, 1, memory_order_relaxed) + 1;
    uint64_t state = mix((g_seed ^ g_lineage) + number * GOLDEN);

    state = state ? state : GOLDEN;
    sampler->left = (int64_t)sampler_interval(g_mean_bytes, &state);
    sampler->state = state;
    atomic_signal_fence(memory_order_seq_cst);
    sampler->epoch = epoch;
}

/* If this process has not drawn yet, draws the interval before it counts the block. */
MTRACE_COLD bool sampler_draw(int64_t size_bytes)
{
    struct sampler *sampler = &g_sampler;
    uint32_t epoch;

    if (!atomic_load_explicit(&g_has_begun, memory_order_acquire))
        return false;
    if (atomic_load_explicit(&g_sampler_page.epoch, memory_order_relaxed) == 0)
        begin_in_child();
    epoch = atomic_load_explicit(&g_sampler_page.epoch, memory_order_acquire);
    if (sampler->epoch != epoch) {
        seed_thread(sampler, epoch);
        sampler->left -= size_bytes;
        if (sampler->left > 0)
            return false;
    }
    sampler->left = (int64_t)sampler_interval(g_mean_bytes, &sampler->state);
    return true;
}
