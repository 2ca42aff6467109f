/* SPDX-License-Identifier: MIT */
/*
 * clock: time stamps of events, in ticks (log_header.clock).
 *
 * Ticks are TSC cycles if the kernel itself uses the TSC, else CLOCK_MONOTONIC nanoseconds. If the
 * program forbids the TSC (PR_SET_TSC), ticks are computed from CLOCK_MONOTONIC at the rate seen so
 * far. If it also forbids system calls, each stamp is the last one plus one.
 *
 * Invariants
 *   CK-1 A free is stamped by clock_ticks_before, before the real call; an allocation by
 *        clock_ticks_after, after it. So the free of a block is later than its allocation,
 *        whichever threads make the calls.
 *   CK-2 The unit does not change after clock_init.
 *
 * Notes on CK-1
 *   - clock_ticks_after uses rdtscp, which waits for earlier instructions. A free does not wait, so
 *     it may seem some tens of ns earlier than an allocation by another thread. The importer
 *     repairs this.
 *   - It cannot repair the end of a realloc's old block without breaking the chain. That time is
 *     taken before the real call, but by clock_ticks_after.
 *   - The wait would add about 10 % to the cost of an event. A single-threaded process
 *     (__libc_single_threaded) does not need it: its events are in the order of its log. Threads
 *     made by raw clone(CLONE_VM) do not change this flag; then the importer repairs the order.
 *
 * Any thread. Async-signal-safe.
 */
#ifndef MTRACE_COLLECTOR_CLOCK_H
#define MTRACE_COLLECTOR_CLOCK_H

#include "collector/arch/arch.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

enum clock_source {
    CLOCK_SOURCE_TSC,       /* the counter */
    CLOCK_SOURCE_MONOTONIC, /* the vdso; unit nanoseconds */
    CLOCK_SOURCE_CONVERTED, /* the kernel; unit TSC cycles */
    CLOCK_SOURCE_LOGICAL,   /* last stamp + 1 */
};

/* <sys/single_threaded.h>, since glibc 2.32. */
extern char __libc_single_threaded __attribute__((weak));

/* Written by clock_init and clock_forbid_* only. */
extern MTRACE_HIDDEN enum clock_source g_clock_source;

struct clock_instant {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

/* Chooses the source. is_tsc_allowed: false in tests of the other sources. */
void clock_init(bool is_tsc_allowed);
enum log_clock clock_unit(void);

/* Reads both clocks; ticks first. monotonic_ns is 0 if it cannot be read any more. */
struct clock_instant clock_now(void);

/* Before the program forbids the TSC, or system calls (seccomp); clock_allow if that failed. */
void clock_forbid_tsc(void);
void clock_forbid_all(void);
void clock_allow(void);

uint64_t clock_ticks_slow(void);

static inline uint64_t clock_ticks_before(void)
{
    if (mtrace_likely(g_clock_source == CLOCK_SOURCE_TSC))
        return arch_counter();
    return clock_ticks_slow();
}

/* The process has one thread, says libc. */
static inline bool clock_is_alone(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

static inline uint64_t clock_ticks_after(void)
{
    if (mtrace_likely(g_clock_source == CLOCK_SOURCE_TSC))
        return clock_is_alone() ? arch_counter() : arch_counter_after();
    return clock_ticks_slow();
}

#endif
