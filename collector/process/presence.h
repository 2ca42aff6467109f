/* SPDX-License-Identifier: MIT */
/*
 * presence: whether the recorder of this process' log is there.
 *
 * Model:   it has a pid, which may be another's by now, or one of another namespace, and a beat, which goes on while it lives, and stands
 *          still while it is stopped. So one look tells little: who asks looks again, and says how long it bears what it sees.
 * Invariants
 *   PS-1 Who has gone on after its pid was nobody's is of another pid namespace: from then on its pid says nothing, and it is never taken for gone, as one that
 *        stands still may be stopped.
 * Threads: any. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_PRESENCE_H
#define MTRACE_COLLECTOR_PRESENCE_H

#include <stdint.h>

enum presence {
    PRESENCE_HEARTBEATS, /* it has gone on since the last look */
    PRESENCE_STILL,      /* it has not, but the pid is somebody's, or says nothing */
    PRESENCE_NONE,       /* it has not, and the pid is nobody's */
};

/* Of this process' log, which is there. *beat: of the last look, and then of this one; 0 before the first. */
enum presence presence_look(uint32_t *heartbeat);

/* Of another log all is new. */
void presence_forget(void);

#endif
