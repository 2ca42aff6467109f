/* SPDX-License-Identifier: MIT */
/*
 * follower: a log that is still written, and the importer that keeps a database up with it.
 *
 * Model:   one mtrace-import --follow for each log. It puts a new database in the place of the one before, whole, in each
 *          round; a question that has the former one open goes on with it.
 * Invariants
 *   FW-1 when follower_start returns 0 the database is one of this log.
 *   FW-2 after follower_stop no importer that was started is left.
 * Threads: one thread of its own, which waits for the importer's end.
 */
#ifndef MTRACE_SERVER_FOLLOWER_H
#define MTRACE_SERVER_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct follower;

/* Waits for the first round; ret_database: of the database it makes, beside the log. */
int follower_start(const char *log_path, char *ret_database, size_t size, struct follower **ret,
                   struct error *err);

/* Whether the importer is still at work: its last round has every row. */
bool follower_is_running(const struct follower *follower);

/* The importer shall end; follower_stop waits for that. NULL is fine. */
void follower_interrupt(const struct follower *follower);

/* NULL is fine. */
void follower_stop(struct follower *follower);

#endif
