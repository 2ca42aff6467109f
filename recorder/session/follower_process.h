/* SPDX-License-Identifier: MIT */
/*
 * follower_process: the importer that keeps up with a log for reports (importer/cli/follower.h), from our side.
 *
 * Model:   started with the first question about a log, or kept up beside the logs of a bounded run, of which there is one state; ended with the
 *          log or the run: nobody can ask any more, and it is told so (child_process.h). One that ends each time it is started is started less and less often, as it may have the same to complain of
 *          each time. It is asked through `end` by the processes that answer (cut_request.h), never by us: we wait for nobody.
 * Threads: one.
 * Failure: where there is none, reports are imported from the beginning of the log, each.
 */
#ifndef MTRACE_RECORDER_FOLLOWER_PROCESS_H
#define MTRACE_RECORDER_FOLLOWER_PROCESS_H

#include "lib/process/child_process.h"
#include "recorder/pack/rotated_log.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: none was started. */
struct follower_process {
    struct child_process helper;
    int end; /* of the socket, while it is connected */
    bool is_connected;
    bool was_killed; /* at the end, as it did not end when it was asked */
    struct rotated_log_run
        ring; /* of the bounded run whose state it writes; without a path: it is of no such run */
    uint64_t begun_ns, due_ns, pause_ns; /* of follower_process_keep_up */
};

/* Unless it runs. is_of_family: it keeps up with the logs of later images and of children, too; that of a bounded run always does. */
void follower_process_start(struct follower_process *follower, const char *import,
                            const char *log_path, bool is_of_family);

/* As follower_process_start, of a bounded run, where there is always to be one from when it has something to take in: called again and again. */
void follower_process_keep_up(struct follower_process *follower, uint64_t now_ns,
                              const char *import);

/* The end to ask at, or -1. */
int follower_process_end(const struct follower_process *follower);

/* Somebody who waits for any process got this one. */
void follower_process_note_end(struct follower_process *follower, pid_t pid);

/* Has it end. True: it is gone, with what it wrote; until then it is called again. */
bool follower_process_try_done(struct follower_process *follower);

/* Until that is true. */
void follower_process_done(struct follower_process *follower);

#endif
