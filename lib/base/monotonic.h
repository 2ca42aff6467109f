/* SPDX-License-Identifier: MIT */
/*
 * monotonic: CLOCK_MONOTONIC, and the processor time of this process, in nanoseconds.
 * Async-signal-safe.
 */
#ifndef MTRACE_LIB_MONOTONIC_H
#define MTRACE_LIB_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* For work that pauses in proportion to it. */
static inline uint64_t own_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
