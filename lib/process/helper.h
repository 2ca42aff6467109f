/* SPDX-License-Identifier: MIT */
/*
 * helper: a process of the recorder's own, beside it: who answers a question, the importer that keeps up with a log.
 *
 * Model:   it is in a group of its own, as ^C is the program's, and its signals are as in a new process, whatever we block and
 *          whoever started us ignored. To end it, it is asked, with all of its group, and goes on if it was stopped; who does not end is killed, and who is not
 *          even ended by that, because somebody froze it, is left alone.
 * Invariants
 *   HE-1 It is neither waited for longer than HELPER_PATIENCE_NS after it was asked, nor after it was killed.
 *   HE-2 Who waits for its work does not wait for ever because somebody stopped it. It looks in the same way after its own children (CP-1).
 * Threads: one.
 */
#ifndef MTRACE_LIB_HELPER_H
#define MTRACE_LIB_HELPER_H

#include "lib/process/child_patience.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HELPER_PATIENCE_NS UINT64_C(3000000000)

/* All zero: there is none. */
struct helper {
    pid_t pid;       /* 0: none */
    uint64_t due_ns; /* CLOCK_MONOTONIC when its next signal is due; 0: it was not asked to end */
    bool is_killed;
    struct child_patience patience; /* of helper_watch */
};

/* As fork: 0 in the helper, otherwise its pid, or -1. */
pid_t helper_start(struct helper *helper);

/* Sees whether it has ended by itself; true: it has, and there is none any more. `ret_status` may be NULL; it is what wait says, or -1
 * when somebody else waited. */
bool helper_has_ended(struct helper *helper, int *ret_status);

/* While somebody waits for its work: it is killed, with its group, when it has been stopped for too long (HE-2, child_patience.h). */
void helper_watch(struct helper *helper);

/* Asks it to end. True: there is none any more; until then it is called again. */
bool helper_end(struct helper *helper);

/* Until helper_end is true. */
void helper_end_now(struct helper *helper);

#endif
