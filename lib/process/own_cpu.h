/* SPDX-License-Identifier: MIT */
/*
 * own_cpu: what this process took of the processors so far, for who rests in proportion to what it does.
 *
 * Threads: any. Failure: none.
 */
#ifndef MTRACE_LIB_OWN_CPU_H
#define MTRACE_LIB_OWN_CPU_H

#include <stdint.h>
#include <time.h>

static inline uint64_t own_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
