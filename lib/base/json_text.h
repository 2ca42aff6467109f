/* SPDX-License-Identifier: MIT */
/* json_text: a string as JSON writes it. Bytes that are no UTF-8 become U+FFFD, so that every
 * reader takes the file. */
#ifndef MTRACE_LIB_JSON_TEXT_H
#define MTRACE_LIB_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* With its quotes; NULL is "". */
void json_text_put(FILE *out, const char *text);

/* The same of a text that may have NULs in it; text[n_bytes] is one. */
void json_text_put_bytes(FILE *out, const char *text, size_t n_bytes);

#endif
