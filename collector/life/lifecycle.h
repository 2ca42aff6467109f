/* SPDX-License-Identifier: MIT */
/*
 * lifecycle: when this process image records, from the first event to its end.
 *
 *      unstarted ──first event, or our constructor──► starting ──► recording
 *          │                                             │             │ fork child: if followed,
 *          │ not the target, no log, no real malloc      │             ▼ starting again, else off
 *          └───────────────────────────────► off ◄───────┴─────────────┘
 *      waiting: MTRACE_DISABLE_BY_DEFAULT; no log until tracing is switched on.
 *
 * Invariants
 *   LC-1 Whatever fails, the program goes on: the state becomes off and calls pass through.
 *   LC-2 In a fork child no mapping of the parent's log is touched.
 * Threads: any. Signals: safe. Failure: off.
 */
#ifndef MTRACE_COLLECTOR_LIFECYCLE_H
#define MTRACE_COLLECTOR_LIFECYCLE_H

#include "collector/platform/config.h"
#include "common/log_format.h"

#include <stdbool.h>
#include <stdint.h>

/* Tracing is switched on: allocations are recorded, not frees only. */
extern _Atomic bool g_lifecycle_is_tracing;

/* What is done once before main, outside of any event: environment, exit handler, oracle. */
void lifecycle_construct(void);

/* Starts if need be; detects fork children. True: the log is mapped in this very process. */
bool lifecycle_is_recording(void);

/* The pid this log is about: a vfork child that runs in our memory has another one. */
bool lifecycle_is_own_process(void);

/* Written while starting; read by lifecycle_config. */
extern struct config g_lifecycle_config;

static inline const struct config *lifecycle_config(void)
{
    return &g_lifecycle_config;
}

/* g_real is filled; false when ld.so has not relocated us yet (real.h, RE-2). */
bool lifecycle_is_ready_for_calls(void);

/* The word about the end of the process, in the header and as an event. */
void lifecycle_end(enum log_end kind, int value);

/* After lifecycle_end, when that was not the end after all. */
void lifecycle_goes_on(void);

/* Before and after a failed exec. */
void lifecycle_exec_begins(void);
void lifecycle_exec_failed(void);

/* LOG_DEF_CHILD: pid will write a log of its own, named after ours. */
void lifecycle_define_child(uint32_t pid);

/* Run-time switch. */
void lifecycle_switch_tracing(bool is_on);

#endif
