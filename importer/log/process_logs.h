/* SPDX-License-Identifier: MIT */
/*
 * process_logs: finds files beside a log that may be logs of child processes, by name.
 *
 * The log of a child, or of an image after exec, is named FIRST.<pid>.<image>, where FIRST is the
 * first log of the run; its live log has ".live" appended. The header (parent_run_id) tells if the
 * file really belongs to the run. Errors: ERROR_NOMEM. An unreadable folder counts as empty.
 */
#ifndef MTRACE_IMPORTER_PROCESS_LOGS_H
#define MTRACE_IMPORTER_PROCESS_LOGS_H

#include <stdbool.h>
#include <stddef.h>

#define PROCESS_LOGS_POOL_SUFFIX ".live"

struct process_logs {
    char **paths; /* sorted */
    size_t n, capacity;
};

/* Finds all files beside `path` with such names. `path` may be any log of the run. */
int process_logs_find(const char *path, struct process_logs *ret);
void process_logs_done(struct process_logs *logs);

/* Bytes of `path` up to the end of the first log's name. */
size_t process_logs_first_bytes(const char *path);

/* Is this the name of a live log, which the recorder removes when it is packed? */
bool process_logs_is_live(const char *path);

/* Length of the packed file's name: of `path` itself, or without the suffix of a live log. */
size_t process_logs_packed_bytes(const char *path);

/* The packed file's name; the caller frees it. NULL: no memory. */
char *process_logs_packed_path(const char *path);

/* Name of the run's checkpoint, beside the first log (lib/logfile/log_rotation.h). The caller frees
 * it. NULL: no memory. */
char *process_logs_checkpoint_path(const char *path);

#endif
