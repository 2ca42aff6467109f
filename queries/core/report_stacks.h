/* SPDX-License-Identifier: MIT */
/*
 * report_stacks: the stack of each row of a report, as one text (the view stack_texts).
 *
 * Model: rows of one stack have their own. A call site has many: the one that weighs most by the column of
 *        backtrace_totals that the command names (struct command, stacks_by) stands for it, of leaks the
 *        one that leaked most and that no rule suppresses; its id is added, too.
 */
#ifndef MTRACE_QUERIES_REPORT_STACKS_H
#define MTRACE_QUERIES_REPORT_STACKS_H

#include <stdbool.h>

struct query;
struct sqlite3_str;

/* Goes before the SELECT; nothing when no stacks are asked for, or rows have their own. */
void report_stacks_append_with(const struct query *query, bool has_own, struct sqlite3_str *sql);

/* Goes behind the columns; row: what the FROM calls the rows. */
void report_stacks_append_columns(const struct query *query, bool has_own, const char *row,
                                  struct sqlite3_str *sql);

#endif
