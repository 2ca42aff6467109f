/* SPDX-License-Identifier: MIT */
/*
 * later_logs: the files FILE.PID.N beside FILE, of later images of its program and of children.
 *
 * Model:   whether a file of such a name belongs to the run in FILE its header says, whose
 *          parent_run_id is that of FILE, or of another one that belongs to it.
 */
#ifndef MTRACE_LIB_SUCCESSOR_LOGS_H
#define MTRACE_LIB_SUCCESSOR_LOGS_H

#include <stdbool.h>
#include <sys/types.h>

/* Is `name`, without a folder, that of a later log of the file called `first`? `suffix` is what shall
 * stand behind N: "" or ".live". */
bool successor_logs_is_name(const char *first, const char *name, const char *suffix);

/* Of such a name. */
pid_t successor_logs_get_pid(const char *first, const char *name);

/* Calls found(context, path) for each log of the run in FILE, but FILE: the packed ones, or those that are not; a parent comes before its children. */
void successor_logs_find(const char *path, bool is_packed,
                         void (*found)(void *context, const char *path), void *context);

/* Before FILE, if it is a log, is replaced: deletes the later logs of the run in it, but those that may still grow, and the reports about it
 * (periodic_reports.h). */
void successor_logs_remove(const char *path);

#endif
