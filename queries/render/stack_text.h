/* SPDX-License-Identifier: MIT */
/*
 * stack_text: places in the code and stacks as text for people.
 *
 * A place is one short text: the function, and the best known of source line, source and module.
 * Examples: "Session::clone  session.cpp:88", "Session::clone  libsession.so", "libsession.so",
 * "-".
 *
 * The text of a stack (the view stack_texts) is printed below a row of a table:
 * "function /path/file.c:12 < caller …" becomes lines of the form "function  file.c:12".
 */
#ifndef MTRACE_QUERIES_STACK_TEXT_H
#define MTRACE_QUERIES_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3_stmt;
struct table;

/* The columns of a row with the parts. */
struct where_columns {
    int function;
    int source;
    int line;
    int module;
};

void stack_text_format_place(struct sqlite3_stmt *row, const struct where_columns *columns,
                             char *ret_text, size_t size);

/* Adds a cell with the place and this text after it. */
void stack_text_add_place(struct table *table, struct sqlite3_stmt *row,
                          const struct where_columns *columns, const char *more);

enum {
    STACK_TEXT_MAX_LINES =
        24 /* of a table that is not wide; for deeper stacks the rest is counted */
};

/* "    stack 4: 600 B, the heaviest of 2" above it: the row is the sum of so many. */
void stack_text_add_heaviest(struct table *table, int64_t stack_id, const char *weight,
                             int64_t n_stacks);

/* Adds the lines below the row that was ended last. text NULL: the stack is unknown. */
void stack_text_add(struct table *table, const char *text, bool is_wide);

#endif
