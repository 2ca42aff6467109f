/* SPDX-License-Identifier: MIT */
/*
 * successor_logs: files FILE.PID.N next to FILE, from exec successors and children of its program.
 *
 * The header of such a file tells whether it belongs to the run in FILE: its parent_run_id is that
 * of FILE, or of another file that belongs to it.
 */
#ifndef MTRACE_LIB_SUCCESSOR_LOGS_H
#define MTRACE_LIB_SUCCESSOR_LOGS_H

#include <stdbool.h>
#include <sys/types.h>

/* Is `name`, without a folder, a successor log of the file named `first`? `suffix` follows N: "" or
 * ".live". */
bool successor_logs_is_name(const char *first, const char *name, const char *suffix);

/* The PID in such a name. */
pid_t successor_logs_get_pid(const char *first, const char *name);

/* Calls found(context, path) for each log of the run in FILE except FILE itself: the packed ones,
 * or the others. A parent comes before its children. */
void successor_logs_find(const char *path, bool is_packed,
                         void (*found)(void *context, const char *path), void *context);

/* Call before FILE, if it is a log, is replaced. Deletes the successor logs of its run, except
 * those that may still grow, and its reports (periodic_reports.h). */
void successor_logs_remove(const char *path);

/* Call before FILE gets a new name in its folder. Renames its packed successor logs, with their
 * rotated files, and its reports. */
void successor_logs_move(const char *path, const char *new_path);

#endif
