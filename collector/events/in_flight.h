/* SPDX-License-Identifier: MIT */
/*
 * in_flight: waits for events that other threads have stamped, but not yet committed.
 *
 * A recording closes the recursion guard of its thread before it takes its time, and opens it after
 * the commit. Its segment names the thread (log_segment.writer): a thread that takes a segment
 * stamps events only after it stored its name. A record of a FALLBACK segment is reserved before it
 * is stamped. So after a memory barrier in all threads, every event that was stamped before is
 * visible.
 *
 * Invariants
 *   UE-1 When in_flight_wait returns true, every event that another thread stamped before the call
 *        is committed.
 *   UE-2 in_flight_wait gives up after some seconds. A debugger, or a handler that waits for the
 *        caller, may hold a thread up for ever; an abandoned recording (TH-4) never ends.
 *   UE-3 The other threads do no work for this and never wait.
 *
 * Threads: any. Signals are blocked (state.h), except during naps. Events that the calling thread
 * itself began are not waited for. Returns false on failure.
 */
#ifndef MTRACE_COLLECTOR_IN_FLIGHT_H
#define MTRACE_COLLECTOR_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* Sleeps for ns. False: the log is gone. */
typedef bool in_flight_nap(void *user, uint64_t ns);

bool in_flight_wait(in_flight_nap *nap, void *user);

#endif
