/* SPDX-License-Identifier: MIT */
/*
 * request_wakeup: wakes the recorder's event loop when the program posts a request.
 *
 * A thread waits on the futex n_posted in the header page (struct log_request) until it differs
 * from the armed value, which the program signals by FUTEX_WAKE (self_report.h), or until a
 * timeout. Then it sends SIGCHLD to this process, which makes the event loop poll everything. It is
 * created with the first request of a log, so a recorder without requests has no such thread. A
 * missed wakeup only delays the request until the next poll.
 *
 * Invariants
 *   QB-1 It wakes at most once each time it is armed, only for a different number, and never after
 *        request_wakeup_done.
 *   QB-2 The page is only named to the kernel, never accessed, so a truncated file causes no SIGBUS
 *        and does not keep the thread from ending.
 *
 * Threads: one caller; its own thread only waits and signals. Errors: without a thread or page
 * there is no wakeup.
 */
#ifndef MTRACE_RECORDER_REQUEST_WAKEUP_H
#define MTRACE_RECORDER_REQUEST_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

struct request_wakeup; /* NULL: none */

/* For the log open on fd; NULL: not possible. */
struct request_wakeup *request_wakeup_new(int fd);

/* Arms it: wakes as soon as n_posted is not `seen`. Takes NULL. */
void request_wakeup_set(struct request_wakeup *wakeup, uint32_t seen);

/* Takes NULL. */
void request_wakeup_done(struct request_wakeup *wakeup);

#endif
