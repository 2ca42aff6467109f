/* SPDX-License-Identifier: MIT */
/*
 * lifecycle: starts and forks the recording that state.h keeps the state of, from the first call of
 * the program to the handler of its exit.
 *
 * Invariants
 *   LC-1 Whatever fails, the program goes on: the state becomes off and calls pass through.
 *   LC-2 In a fork child no mapping of the parent's log is touched.
 * Threads: any. Signals: safe. Failure: off.
 */
#ifndef MTRACE_COLLECTOR_LIFECYCLE_H
#define MTRACE_COLLECTOR_LIFECYCLE_H

#include "collector/os/real.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>

/* What is done once before main, outside of any event: environment, exit handler, oracle. */
void lifecycle_construct(void);

MTRACE_COLD bool lifecycle_make_ready_slow(void);

/* g_real is filled; false when ld.so has not relocated us yet (real.h, RE-2). Every wrapper asks
 * first: the first one that does starts the recording. */
static inline bool lifecycle_is_ready(void)
{
    return mtrace_likely(g_real.malloc != NULL) || lifecycle_make_ready_slow();
}

/* Run-time switch. */
void lifecycle_switch_tracing(bool is_on, enum log_switch reason);

/*
 * In a program that runs already (libmtrace-attach.so): records into the pool that the settings name, as MTRACE_RECORDER has them, until
 * lifecycle_detach. False: nothing is changed, because the pool is not there or this process records already. Once at a time.
 */
bool lifecycle_attach(const char *settings);

/* False: nothing was recorded. */
bool lifecycle_detach(void);

#endif
