/* SPDX-License-Identifier: MIT */
/*
 * helper: a process of the recorder's own, beside it: who answers a question, the importer that keeps up with a log.
 *
 * Model:   it is in a group of its own, as ^C is the program's, and its signals are as in a new process, whatever we block and
 *          whoever started us ignored. To end it, it is asked, with all of its group, and goes on if it was stopped; who does not end is killed, and who is not
 *          even ended by that, because somebody froze it, is left alone.
 * Invariants
 *   HE-1 It is neither waited for longer than CHILD_PROCESS_TIME_LIMIT_NS after it was asked, nor after it was killed.
 *   HE-2 Who waits for its work does not wait for ever because somebody stopped it. It looks in the same way after its own children (CP-1).
 * Threads: one.
 */
#ifndef MTRACE_LIB_CHILD_PROCESS_H
#define MTRACE_LIB_CHILD_PROCESS_H

#include "lib/process/child_time_limit.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_PROCESS_TIME_LIMIT_NS UINT64_C(3000000000)

/* All zero: there is none. */
struct child_process {
    pid_t pid;       /* 0: none */
    uint64_t due_ns; /* CLOCK_MONOTONIC when its next signal is due; 0: it was not asked to end */
    bool is_killed;
    struct child_time_limit time_limit; /* of child_process_watch */
};

/* As fork: 0 in the helper, otherwise its pid, or -1. */
pid_t child_process_start(struct child_process *helper);

/* Sees whether it has ended by itself; true: it has, and there is none any more. `ret_status` may be NULL; it is what wait says, or -1
 * when somebody else waited. */
bool child_process_has_ended(struct child_process *helper, int *ret_status);

/* While somebody waits for its work: it is killed, with its group, when it has been stopped for too long (HE-2, child_time_limit.h). */
void child_process_watch(struct child_process *helper);

/* Asks it to end. True: there is none any more; until then it is called again. */
bool child_process_end(struct child_process *helper);

/* Until child_process_end is true. */
void child_process_end_now(struct child_process *helper);

#endif
