/* SPDX-License-Identifier: MIT */
/*
 * lifecycle: starts, restarts after fork, and ends the recording of this process.
 *
 * The first call of the program starts the recording, and its exit handler ends it. state.h keeps
 * the state.
 *
 * Invariants
 *   LC-1 After any failure the program continues: the state becomes off, and calls pass through.
 *   LC-2 A fork child touches no mapping of the parent's log.
 *
 * Threads: any. Async-signal-safe. After a failure the state is off.
 */
#ifndef MTRACE_COLLECTOR_LIFECYCLE_H
#define MTRACE_COLLECTOR_LIFECYCLE_H

#include "collector/os/real.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>

/* Once before main, outside of any event: environment, exit handler, reference unwinder. */
void lifecycle_construct(void);

MTRACE_COLD bool lifecycle_make_ready_slow(void);

/* True if g_real is filled; false: ld.so has not relocated us yet (real.h, RE-2). The
 * malloc family calls this only on its slow path, which MODE_TRACING_OFF forces at first. The first
 * call starts the recording. */
static inline bool lifecycle_is_ready(void)
{
    return mtrace_likely(g_real.malloc != NULL) || lifecycle_make_ready_slow();
}

/* Switches tracing on or off at run time. */
void lifecycle_switch_tracing(bool is_on, enum log_switch reason);

/* In a running program (libmtrace-attach.so): records into the live log that the settings name (as
 * MTRACE_RECORDER), until lifecycle_detach. False: the live log does not exist or this process
 * records already; nothing is changed. One call at a time. */
bool lifecycle_attach(const char *settings);

/* False: nothing was recorded. */
bool lifecycle_detach(void);

#endif
