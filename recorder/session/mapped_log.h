/* SPDX-License-Identifier: MIT */
/*
 * mapped_log: the log that a process writes, as others find it: by what the process has mapped.
 *
 * Model:   its name is that of the mount namespace and root directory of the process, in which ours may have another file of that name. So it is looked
 *          for under both roots, and what is found is kept open if it is what the process has mapped.
 * Invariants
 *   ML-1 The file that is open is the one that the process has mapped: the kernel says the same of its mapping and of one of ours, and the process has the
 *        run_id of the file in its memory.
 *   ML-2 Nothing but a regular file is opened, whatever the process calls it.
 * Threads: one. Failure: it is not open, and its name is all that is known.
 */
#ifndef MTRACE_RECORDER_MAPPED_LOG_H
#define MTRACE_RECORDER_MAPPED_LOG_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "lib/logfile/live_log.h"
#include "lib/process/process_maps.h"

#include <stdbool.h>
#include <sys/types.h>

struct mapped_log {
    char *name;             /* as the process has it; owned; NULL: it has none any more */
    int fd;                 /* -1: it is not open */
    struct log_file header; /* while it is open */
    pid_t pid;
    bool is_writing;   /* a log is mapped */
    bool is_live;      /* it was made for a recorder */
    bool is_elsewhere; /* here its name leads to another file, or to none */
};

/* Takes the log if this shared mapping is of one; else is_writing stays false. The log was all zero, but for fd -1. */
void mapped_log_take(struct mapped_log *log, pid_t pid, const struct process_mapping *mapping);

/* Does an mtrace-record pack it, in whatever namespaces that is? What cannot be known counts as that. Takes a third of a second to say no. */
bool mapped_log_is_recorded(const struct mapped_log *log);

/* Shared with the process. Close with live_log_close. */
int mapped_log_open(const struct mapped_log *log, struct live_log *ret_live, struct error *err);

void mapped_log_done(struct mapped_log *log);

#endif
