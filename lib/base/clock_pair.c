/* SPDX-License-Identifier: MIT */
#include "lib/base/clock_pair.h"

#include "lib/base/monotonic.h"

#if defined(__x86_64__)
#    include <x86intrin.h>
#endif

enum {
    MAX_READINGS = 8,
    CLOSE_NS = 2000,      /* the thread was not interrupted between the clocks */
    RATE_MIN_NS = 100000, /* closer readings give no rate */
};

double clock_pair_rate(uint64_t from_ticks, uint64_t from_ns, uint64_t to_ticks, uint64_t to_ns)
{
    if (to_ticks <= from_ticks || to_ns < from_ns + RATE_MIN_NS)
        return 0;
    return (double)(to_ticks - from_ticks) / (double)(to_ns - from_ns);
}

static bool has_our_counter(const struct log_header *file)
{
#if defined(__x86_64__)
    return file->arch == LOG_ARCH_X86_64 || file->arch == LOG_ARCH_I386;
#elif defined(__aarch64__)
    return file->arch == LOG_ARCH_AARCH64;
#elif defined(__riscv)
    return file->arch == LOG_ARCH_RISCV;
#else
    (void)file;
    return false;
#endif
}

static uint64_t counter(void)
{
    uint64_t ticks = 0;

#if defined(__x86_64__)
    ticks = __rdtsc();
#elif defined(__aarch64__)
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
#elif defined(__riscv)
    __asm__ volatile("rdtime %0" : "=r"(ticks));
#endif
    return ticks;
}

bool clock_pair_read(const struct log_header *file, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    *ret_ticks = *ret_ns = monotonic_now_ns();
    if (file->clock == LOG_CLOCK_MONOTONIC)
        return true;
    if (file->clock != LOG_CLOCK_TSC || !has_our_counter(file))
        return false;
    for (int i = 0; i < MAX_READINGS; i++) {
        *ret_ns = monotonic_now_ns();
        *ret_ticks = counter();
        if (monotonic_now_ns() - *ret_ns < CLOSE_NS)
            break;
    }
    return true;
}
