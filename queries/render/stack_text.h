/* SPDX-License-Identifier: MIT */
/*
 * stack_text: the text of a stack (the view stack_texts), position by position, for people.
 *
 * Model: "function /path/file.c:12 < caller …" becomes "function  file.c:12", one for each line of a table.
 */
#ifndef MTRACE_QUERIES_STACK_TEXT_H
#define MTRACE_QUERIES_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct table;

enum {
    STACK_TEXT_MAX_LINES =
        24 /* of a table that is not wide; deeper stacks say how many more there are */
};

/* As lines below the row of a table that was ended last. NULL: none is known. */
void stack_text_add(struct table *table, const char *text, bool is_wide);

#endif
