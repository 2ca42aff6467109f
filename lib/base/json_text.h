/* SPDX-License-Identifier: MIT */
/* json_text: writes JSON strings. Bytes that are not UTF-8 become U+FFFD. */
#ifndef MTRACE_LIB_JSON_TEXT_H
#define MTRACE_LIB_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes the string with its quotes; NULL is "". */
void json_text_put(FILE *out, const char *text);

/* The same for a text that may contain NULs; text[n_bytes] must be readable and NUL. */
void json_text_put_bytes(FILE *out, const char *text, size_t n_bytes);

#endif
