/* SPDX-License-Identifier: MIT */
/*
 * mapped_log: finds the log that another process writes, by its mappings.
 *
 * The process's name for the log belongs to its own mount namespace and root directory, where
 * another file may have that name in ours. So the name is tried under both roots, and a file is
 * kept only if it is the mapped one.
 *
 * Invariants
 *   ML-1 The open file is the mapped file: the kernel reports the same file for both mappings, and
 *        the run_id in the process's memory equals the file's.
 *   ML-2 Only regular files are opened, whatever the process names.
 *
 * Threads: one. Errors: the file is not open, and only its name is known.
 */
#ifndef MTRACE_RECORDER_MAPPED_LOG_H
#define MTRACE_RECORDER_MAPPED_LOG_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "lib/logfile/live_log.h"
#include "lib/process/proc_files.h"

#include <stdbool.h>
#include <sys/types.h>

struct mapped_log {
    char *name; /* the process's name for it; owned; NULL: the file has none any more */
    int fd;     /* -1: it is not open */
    struct log_header header; /* valid while it is open */
    pid_t pid;
    bool is_writing;   /* a log is mapped */
    bool is_live;      /* it was made for a recorder */
    bool is_elsewhere; /* the name leads to another file here, or to none */
};

/* Takes the log if this shared mapping is one; else is_writing stays false. The log must be all
 * zero but for fd -1. */
void mapped_log_take(struct mapped_log *log, pid_t pid, const struct process_mapping *mapping);

/* An mtrace-record packs it, in any namespace. Unknown counts as true. Takes 300 ms to return
 * false. */
bool mapped_log_is_recorded(const struct mapped_log *log);

/* Maps it, shared with the process. Close with live_log_close. */
int mapped_log_open(const struct mapped_log *log, struct live_log *ret_live, struct error *err);

void mapped_log_done(struct mapped_log *log);

#endif
