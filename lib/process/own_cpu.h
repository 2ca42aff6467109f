/* SPDX-License-Identifier: MIT */
/*
 * own_cpu: processor time that this process has used, for work that pauses in proportion to it.
 *
 * Any thread. Cannot fail.
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
