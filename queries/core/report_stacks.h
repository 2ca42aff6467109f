/* SPDX-License-Identifier: MIT */
/*
 * report_stacks: adds the stack of each row of a report as text (the view stack_texts).
 *
 * If rows have one stack each, that is used. A call site has many stacks: the one with the largest
 * value in the column command.stacks_by is shown, with its id. For leaks this is the stack that
 * leaked most and is not suppressed.
 */
#ifndef MTRACE_QUERIES_REPORT_STACKS_H
#define MTRACE_QUERIES_REPORT_STACKS_H

#include <stdbool.h>

struct query;
struct sqlite3_str;

/* Appends a WITH clause; nothing if no stacks are wanted or rows have their own. */
void report_stacks_append_with(const struct query *query, bool has_own, struct sqlite3_str *sql);

/* Appends the columns. row: the alias of the rows. */
void report_stacks_append_columns(const struct query *query, bool has_own, const char *row,
                                  struct sqlite3_str *sql);

#endif
