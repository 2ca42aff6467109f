/* SPDX-License-Identifier: MIT */
/*
 * sql_budget: how much memory SQLite may take for one question, and how much of that and how long to prepare one statement.
 *
 * Model:   a few lines of SQL can name a table expression twice in the next one, and so on: SQLite copies them before
 *          its first step, where it asks neither progress handler nor authorizer. But each copy needs memory: here its allocator
 *          counts what a thread takes. Between sql_budget_begin and sql_budget_end there is no more above
 *          SQL_BUDGET_BYTES: the question fails with ERROR_NOMEM, and nothing else does. While a statement is prepared
 *          there is no more above SQL_BUDGET_PREPARE_BYTES, nor once the stop is due.
 * Threads: each has its own count; a question belongs to one. Failure: where SQLite was used before, nothing is counted.
 */
#ifndef MTRACE_LIB_SQL_BUDGET_H
#define MTRACE_LIB_SQL_BUDGET_H

struct database_stop;

enum {
    SQL_BUDGET_BYTES = 256 * 1024 * 1024,
    SQL_BUDGET_PREPARE_BYTES = 64 * 1024 * 1024 /* a report of ours takes less than one MiB */
};

/* Why a statement could not be prepared. */
enum sql_budget_end {
    SQL_BUDGET_KEPT, /* for another reason, if at all */
    SQL_BUDGET_STOPPED,
    SQL_BUDGET_EXCEEDED
};

/* Before SQLite is used; any further call does nothing. */
void sql_budget_install(void);

void sql_budget_begin(void);
void sql_budget_end(void);

/* Around each sqlite3_prepare, within a question or without. stop: NULL: nobody stops. */
void sql_budget_begin_preparing(const struct database_stop *stop);
enum sql_budget_end sql_budget_end_preparing(void);

#endif
