/* SPDX-License-Identifier: MIT */
/*
 * unfinished: events that other threads have stamped, but not committed yet.
 *
 * Model:   from before its stamp to its commit a recording has the gate of its thread closed, and the segment that it
 *          will write to names the thread (log_segment.writer): who takes a segment is stamped after it named itself. A record of a
 *          SIDE segment is reserved before it is stamped. So behind a barrier in all threads everything that was
 *          stamped before is in sight, and is waited for.
 * Invariants
 *   UE-1 When in_flight_wait returns true, every event that another thread stamped before the call is committed.
 *   UE-2 It returns within some seconds: threads may be held up for ever (by a debugger, by a handler that waits for the caller),
 *        and a recording that was left by siglongjmp never ends (TH-4).
 *   UE-3 No thread does or waits for anything because of it.
 * Threads: any. Signals: blocked (quiet.h), but during naps; what the caller's own thread began is not waited for. Failure: false.
 */
#ifndef MTRACE_COLLECTOR_IN_FLIGHT_H
#define MTRACE_COLLECTOR_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* Sleeps so long. False: the log is not there any more. */
typedef bool in_flight_nap(void *user, uint64_t ns);

bool in_flight_wait(in_flight_nap *nap, void *user);

#endif
