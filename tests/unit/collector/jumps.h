/* SPDX-License-Identifier: MIT */
/*
 * jumps: a thread that a signal handler leaves by siglongjmp, at any instruction, again and again.
 *
 *     while (!jumps_are_over()) {
 *         if (sigsetjmp(g_jumps_back, 1) != 0)
 *             continue;
 *         jumps_allow(true);
 *         ... what is left
 *     }
 */
#ifndef MTRACE_TESTS_UNIT_COLLECTOR_JUMPS_H
#define MTRACE_TESTS_UNIT_COLLECTOR_JUMPS_H

#include "collector/os/sys.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static sigjmp_buf g_jumps_back;
static _Atomic bool g_jumps_allowed, g_jumps_over;
static _Atomic unsigned g_n_jumps;

static void jumps_jump(int number)
{
    (void)number;
    if (!atomic_load(&g_jumps_allowed))
        return;
    atomic_store(&g_jumps_allowed, false);
    atomic_fetch_add(&g_n_jumps, 1);
    siglongjmp(g_jumps_back, 1);
}

static inline bool jumps_are_over(void)
{
    return atomic_load(&g_jumps_over);
}

/* After each sigsetjmp. Returns false when no more jumps come, and the thread continues to its
 * end. */
static inline void jumps_allow(bool is_allowed)
{
    atomic_store(&g_jumps_allowed, is_allowed);
}

/* False: it could not be started. */
static inline bool jumps_start(pthread_t *ret_thread, void *(*run)(void *))
{
    struct sigaction action = {.sa_handler = jumps_jump};

    return sigaction(SIGUSR1, &action, NULL) == 0
           && pthread_create(ret_thread, NULL, run, NULL) == 0;
}

/* n of them, or what a machine that is busy with other things comes to in a while. */
static inline void jumps_make(pthread_t thread, unsigned n)
{
    const uint64_t longest_ns = 10000000000;
    const uint64_t start = sys_clock_ns(CLOCK_MONOTONIC);

    while (atomic_load(&g_n_jumps) == 0
           || (atomic_load(&g_n_jumps) < n && sys_clock_ns(CLOCK_MONOTONIC) - start < longest_ns)) {
        pthread_kill(thread, SIGUSR1);
        sys_nap(1);
    }
}

static inline void jumps_end(void)
{
    atomic_store(&g_jumps_over, true);
}

#endif
