/* SPDX-License-Identifier: MIT */
/*
 * sql_budget: limits the memory of one query, and memory and time for preparing one statement.
 *
 * A few lines of SQL can use each table expression twice in the next one. SQLite copies them before
 * its first step, without calling progress handler or authorizer. Each copy needs memory, so
 * SQLite's allocator counts what a thread takes. Between sql_budget_begin and sql_budget_end
 * allocations above SQL_BUDGET_BYTES fail, so that only this query fails, with ERROR_NOMEM. While a
 * statement is prepared, the limit is SQL_BUDGET_PREPARE_BYTES, and allocations also fail once the
 * stop is due.
 *
 * Each thread has its own count; a query belongs to one thread. If SQLite was used before the
 * install, nothing is counted.
 */
#ifndef MTRACE_LIB_SQL_BUDGET_H
#define MTRACE_LIB_SQL_BUDGET_H

struct database_stop;

enum {
    SQL_BUDGET_BYTES = 256 * 1024 * 1024,
    SQL_BUDGET_PREPARE_BYTES = 64 * 1024 * 1024 /* a built-in report takes less than one MiB */
};

/* Why a statement could not be prepared. */
enum sql_budget_end {
    SQL_BUDGET_KEPT, /* for another reason, or it could be prepared */
    SQL_BUDGET_STOPPED,
    SQL_BUDGET_EXCEEDED
};

/* Call before SQLite is used; further calls do nothing. */
void sql_budget_install(void);

void sql_budget_begin(void);
void sql_budget_end(void);

/* Call around each sqlite3_prepare, in a query or not. stop NULL: no stop. */
void sql_budget_begin_preparing(const struct database_stop *stop);
enum sql_budget_end sql_budget_end_preparing(void);

#endif
