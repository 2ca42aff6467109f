/* SPDX-License-Identifier: MIT */
/*
 * follow_process: an importer process that updates a database while its log is written.
 *
 * There is one mtrace-import --follow per log. In each round it replaces the database as a whole. A
 * query that has the previous database open continues with it.
 *
 * Invariants
 *   FW-1 When follow_process_start returns 0, the database belongs to this log.
 *   FW-2 After follow_process_stop no importer that it started is left.
 *
 * Threads: one thread of its own, which waits for the importer to exit.
 */
#ifndef MTRACE_SERVER_FOLLOW_PROCESS_H
#define MTRACE_SERVER_FOLLOW_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct follow_process;

/* Waits for the first round. ret_database: the path of its database, beside the log. */
int follow_process_start(const char *log_path, char *ret_database, size_t size,
                         struct follow_process **ret, struct error *err);

/* True until the importer exits; after its last round the database has all rows. */
bool follow_process_is_running(const struct follow_process *follower);

/* Tells the importer to exit; follow_process_stop waits for it. NULL is fine. */
void follow_process_interrupt(const struct follow_process *follower);

/* NULL is fine. */
void follow_process_stop(struct follow_process *follower);

#endif
