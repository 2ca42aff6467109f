/* SPDX-License-Identifier: MIT */
/*
 * clock: the time stamps of events.
 *
 * Model:   ticks of the unit in log_file.clock. TSC when the kernel trusts it itself, otherwise
 *          CLOCK_MONOTONIC. When the program forbids the TSC (PR_SET_TSC) ticks are computed from
 *          CLOCK_MONOTONIC at the rate seen so far; when it forbids system calls, too, they are
 *          the last ticks plus one.
 * Invariants
 *   CK-1 An end (free) is stamped by clock_ticks_before, before the real call; a begin
 *        (allocation) by clock_ticks_after, after it. Then, whatever thread a block goes to,
 *        its free is later than its allocation: rdtscp waits for all earlier instructions. A free that
 *        does not wait for the load of the block's address may seem earlier than an allocation by another
 *        thread, by some tens of ns, and the importer puts it behind. It could not do so with
 *        the end of a realloc's old block and keep its chain: that is stamped before the real call,
 *        but by clock_ticks_after.
 *        That wait is a tenth of an event, and is left out while there is one thread: its events are
 *        in the order of its log whatever their stamps, and the stamp is taken before the thread
 *        enters the kernel to make another one. libc clears __libc_single_threaded before that,
 *        and sets it when the other one has long been through the kernel to end. It knows of the
 *        threads of pthread_create and thrd_create alone: where a program makes its own by
 *        clone(CLONE_VM), a free may be stamped before the allocation, and the importer puts it
 *        behind.
 *   CK-2 The unit never changes once clock_init chose it.
 * Threads: any. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_CLOCK_H
#define MTRACE_COLLECTOR_CLOCK_H

#include "collector/arch/arch.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

enum clock_source {
    CLOCK_SOURCE_TSC,       /* read the counter */
    CLOCK_SOURCE_MONOTONIC, /* ask the vdso, unit nanoseconds */
    CLOCK_SOURCE_CONVERTED, /* ask the kernel, unit TSC ticks */
    CLOCK_SOURCE_LOGICAL,   /* last + 1 */
};

/* <sys/single_threaded.h>, since glibc 2.32. */
extern char __libc_single_threaded __attribute__((weak));

/* Written by clock_init and clock_forbid_* only. */
extern MTRACE_HIDDEN enum clock_source g_clock_source;

struct clock_instant {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

/* Chooses the source; is_tsc_allowed = false for tests of the other path. */
void clock_init(bool is_tsc_allowed);
enum log_clock clock_unit(void);

/* Both clocks, read together, if interrupted the ticks before the time. monotonic_ns is 0 when it cannot be read any more. */
struct clock_instant clock_now(void);

/* The program is about to make reading the TSC a signal, or to lose all system calls but a few. */
void clock_forbid_tsc(void);
void clock_forbid_all(void);
void clock_allow(void); /* it was refused */

uint64_t clock_ticks_slow(void);

static inline uint64_t clock_ticks_before(void)
{
    if (mtrace_likely(g_clock_source == CLOCK_SOURCE_TSC))
        return arch_counter();
    return clock_ticks_slow();
}

/* libc's own answer: malloc takes no lock while it is so. */
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
