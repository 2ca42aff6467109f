/* SPDX-License-Identifier: MIT */
/* wrap: prints text in lines that end at blanks. */
#ifndef MTRACE_QUERIES_WRAP_H
#define MTRACE_QUERIES_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* Prints the words from `column` on, and a line end. `at`: the column now. width: of a line; a
 * longer word has a line of its own. */
void wrap_text(const char *text, size_t at, size_t column, size_t width, FILE *out);

#endif
