/* SPDX-License-Identifier: MIT */
/*
 * stack_text: prints the text of a stack (the view stack_texts) below a row of a table.
 *
 * "function /path/file.c:12 < caller …" becomes lines of the form "function  file.c:12".
 */
#ifndef MTRACE_QUERIES_STACK_TEXT_H
#define MTRACE_QUERIES_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct table;

enum {
    STACK_TEXT_MAX_LINES =
        24 /* of a table that is not wide; for deeper stacks the rest is counted */
};

/* Adds the lines below the row that was ended last. text NULL: the stack is unknown. */
void stack_text_add(struct table *table, const char *text, bool is_wide);

#endif
