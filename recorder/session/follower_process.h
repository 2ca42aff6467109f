/* SPDX-License-Identifier: MIT */
/*
 * follower_process: the incremental importer (importer/cli/follower.h), as its parent process sees
 * it.
 *
 * It reads the logs of all processes of the run. It is started with the first request. For a
 * bounded run, which has one checkpoint, it is kept running beside the logs. It gets a request to
 * end with the run, when no report can follow (child_process.h). If it keeps exiting, it is
 * restarted after growing pauses, because it may print the same error each time. Only the processes
 * that answer send requests through `end` (cut_request.h): mtrace-record itself never waits for it.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_FOLLOWER_PROCESS_H
#define MTRACE_RECORDER_FOLLOWER_PROCESS_H

#include "lib/process/child_process.h"
#include "recorder/pack/rotated_log.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: none was started. */
struct follower_process {
    struct child_process child;
    int end; /* of the socket, while it is connected */
    bool is_connected;
    bool was_killed;                     /* it did not end on request */
    bool is_bounded;                     /* it writes the checkpoint of the run */
    struct rotated_log_run ring;         /* its log_path is that of the run */
    uint64_t begun_ns, due_ns, pause_ns; /* of follower_process_keep_up */
};

/* Does nothing if it runs. */
void follower_process_start(struct follower_process *follower, const char *import);

/* As follower_process_start, for a bounded run, as soon as there are events to read. Call
 * periodically. */
void follower_process_keep_up(struct follower_process *follower, uint64_t now_ns,
                              const char *import);

/* The descriptor for requests, or -1. */
int follower_process_request_fd(const struct follower_process *follower);

/* The caller reaped this process. */
void follower_process_note_end(struct follower_process *follower, pid_t pid);

/* Makes it end, and waits until it has removed what it wrote. */
void follower_process_done(struct follower_process *follower);

/* ---- the folder of a report ---- */

/* The folder for the database of a report. mtrace-record removes it with its content, however the
 * process that used it ended. The process that answers removes it, too, in case mtrace-record was
 * killed. */
enum {
    REPORT_FOLDER_BYTES = PATH_MAX - 16 /* room for a file name */
};

struct report_folder {
    char path[REPORT_FOLDER_BYTES]; /* "": none */
};

/* $TMPDIR, or /tmp if that is not a writable folder. */
const char *report_folder_base(void);

/* Chooses an unused path; does not create it. 0, or an errno value. */
int report_folder_name(struct report_folder *folder);

/* Creates the folder. Call in the process that answers, so that none is left if mtrace-record is
 * killed before. 0, or an errno value. */
int report_folder_make(const struct report_folder *folder);

/* Takes an empty path. */
void report_folder_remove(struct report_folder *folder);

#endif
