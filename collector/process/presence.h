/* SPDX-License-Identifier: MIT */
/*
 * presence: is the recorder of this process' log alive?
 *
 * The recorder has a PID, which may be reused or belong to another PID namespace. It also has a
 * heartbeat, which stands still while the recorder is stopped. One look is not enough: the caller
 * looks again, and decides how long it waits.
 *
 * Invariants
 *   PS-1 If the heartbeat advances although the PID does not exist here, the recorder runs in
 *        another PID namespace. Its PID is ignored from then on, and it never counts as gone, since
 *        it may be stopped.
 *
 * Threads: any. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_PRESENCE_H
#define MTRACE_COLLECTOR_PRESENCE_H

#include <stdint.h>

enum presence {
    PRESENCE_HEARTBEATS, /* the heartbeat has advanced since the last look */
    PRESENCE_STILL,      /* it has not, but the PID exists, or is ignored */
    PRESENCE_NONE,       /* it has not, and the PID does not exist */
};

/* Looks at the recorder of this process' log, which must exist. *heartbeat: of the last look, and
 * then of this one; 0 before the first. */
enum presence presence_look(uint32_t *heartbeat);

/* For a new log. */
void presence_forget(void);

#endif
