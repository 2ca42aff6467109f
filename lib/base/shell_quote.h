/* SPDX-License-Identifier: MIT */
/* shell_quote: words of suggested commands. Any thread. */
#ifndef MTRACE_LIB_SHELL_QUOTE_H
#define MTRACE_LIB_SHELL_QUOTE_H

#include <stddef.h>

/* Appends a word to the text, in single quotes if a shell would interpret it. Cuts it to size
 * bytes, NUL included. */
void shell_quote(const char *word, char *text, size_t size);

#endif
