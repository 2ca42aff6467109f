/* SPDX-License-Identifier: MIT */
/*
 * follower: a log that is still written, and the importer that keeps a database up with it.
 *
 * Model:   one mtrace-import --follow for each log. It puts a new database in the place of the one before, whole, in each
 *          round; a question that has the former one open goes on with it.
 * Invariants
 *   FW-1 when follow_process_start returns 0 the database is one of this log.
 *   FW-2 after follow_process_stop no importer that was started is left.
 * Threads: one thread of its own, which waits for the importer's end.
 */
#ifndef MTRACE_SERVER_FOLLOW_PROCESS_H
#define MTRACE_SERVER_FOLLOW_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct follow_process;

/* Waits for the first round; ret_database: of the database it makes, beside the log. */
int follow_process_start(const char *log_path, char *ret_database, size_t size,
                         struct follow_process **ret, struct error *err);

/* Whether the importer is still at work: its last round has every row. */
bool follow_process_is_running(const struct follow_process *follower);

/* The importer shall end; follow_process_stop waits for that. NULL is fine. */
void follow_process_interrupt(const struct follow_process *follower);

/* NULL is fine. */
void follow_process_stop(struct follow_process *follower);

#endif
