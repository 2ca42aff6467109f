/* SPDX-License-Identifier: MIT */
/*
 * import_first: imports a log that the user gave in place of a database.
 *
 * run.dat becomes run.db by the mtrace-import beside this program, or the one in PATH. An existing
 * database is used as it is if it is complete and at least as new as all files of the log.
 *
 * Invariants
 *   IF-1 Only a database of mtrace is ever replaced.
 *
 * Errors: ERROR_EXISTS if another file has the database's name; ERROR_EXEC if mtrace-import cannot
 * be run or fails (it has printed the reason).
 */
#ifndef MTRACE_QUERIES_IMPORT_FIRST_H
#define MTRACE_QUERIES_IMPORT_FIRST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

bool import_first_is_log(const char *path);

/* Finds the database of a log. ret_is_current: it holds the log as it is now. */
int import_first_find(const char *log_path, char *ret_path, size_t size, bool *ret_is_current,
                      struct error *err);

/* True if the log beside the database was modified after it. ret_path: the log. */
bool import_first_find_newer(const char *database_path, char *ret_path, size_t size);

/* The path of the database beside a log, which need not exist yet. */
int import_first_name(const char *log_path, char *ret_path, size_t size, struct error *err);

/* Starts mtrace-import --follow in a process group of its own. It updates the database while the
 * log is written and exits with the program; SIGTERM ends it earlier. */
int import_first_follow(const char *log_path, const char *database_path, pid_t *ret_pid,
                        struct error *err);

/* Creates or replaces the database; mtrace-import reports on stderr. */
int import_first_run(const char *log_path, const char *database_path, struct error *err);

#endif
