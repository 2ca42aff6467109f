/* SPDX-License-Identifier: MIT */
/*
 * import_first: a recording given in place of a database is imported to the database beside it.
 *
 * Model: run.dat -> run.db by the mtrace-import beside this program, or the one in PATH. A database
 *        that is at least as new as the recording with all its files, and holds it to its end, is taken as it is.
 * Invariants: IF-1 nothing but a database of ours is ever replaced.
 * Failure: ERROR_EXISTS when another file has the database's name; ERROR_EXEC when mtrace-import
 * cannot be run or fails; it has said why.
 */
#ifndef MTRACE_QUERIES_IMPORT_FIRST_H
#define MTRACE_QUERIES_IMPORT_FIRST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

bool import_first_is_log(const char *path);

/* ret_path: of the database; whether it holds the recording as it is. */
int import_first_find(const char *log_path, char *ret_path, size_t size, bool *ret_is_current,
                      struct error *err);

/* The database beside a log that need not be there yet. */
int import_first_name(const char *log_path, char *ret_path, size_t size, struct error *err);

/* Starts mtrace-import --follow, which keeps the database up with a log that is still written and
 * ends with it; SIGTERM ends it before that. It is in a process group of its own. */
int import_first_follow(const char *log_path, const char *database_path, pid_t *ret_pid,
                        struct error *err);

/* Makes the database, or makes it anew; mtrace-import says on stderr what it does. */
int import_first_run(const char *log_path, const char *database_path, struct error *err);

#endif
