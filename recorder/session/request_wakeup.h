/* SPDX-License-Identifier: MIT */
/*
 * question_bell: a question of the program wakes who sleeps in sigtimedwait.
 *
 * Model:   a thread waits in the kernel until n_asked of the header page (struct log_question) is another number than when it was set, and the program says
 *          so by a wake (self_report.h), or some time has passed; then it sends us SIGCHLD, which says "look" anyhow. Begun with the first question of a log,
 *          so that a recorder which nobody asks has none; what nobody rings is seen at the next look.
 * Invariants
 *   QB-1 It rings at most once each time that it is set, for another number alone, and not behind request_wakeup_done.
 *   QB-2 The page is never touched by us, only named to the kernel, and the thread's end does not depend on it: whoever cuts the file harms nobody.
 * Threads: one here; its own does nothing but wait and ring.
 * Failure: without a thread or a page there is no bell.
 */
#ifndef MTRACE_RECORDER_REQUEST_WAKEUP_H
#define MTRACE_RECORDER_REQUEST_WAKEUP_H

#include <stdbool.h>
#include <stdint.h>

struct request_wakeup; /* NULL: none */

/* Of the log that fd is open on; NULL: none can be had. */
struct request_wakeup *request_wakeup_new(int fd);

/* Rings as soon as n_asked is not `seen`. NULL is fine. */
void request_wakeup_set(struct request_wakeup *wakeup, uint32_t seen);

/* NULL is fine. */
void request_wakeup_done(struct request_wakeup *wakeup);

#endif
