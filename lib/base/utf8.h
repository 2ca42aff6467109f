/* SPDX-License-Identifier: MIT */
/*
 * utf8: characters of texts that may contain any bytes, and how to make such a text safe for a
 * terminal.
 *
 * A program, or the other end of a connection, may send any bytes: a line break would begin a line
 * in our name, and an escape sequence could move the cursor or rename the window. Marks of
 * direction show a name in another order than its bytes have. Any thread.
 */
#ifndef MTRACE_LIB_UTF8_H
#define MTRACE_LIB_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the well-formed character at text, which ends with NUL; 0 if it is invalid. Overlong
 * forms, surrogates and values above U+10FFFF are invalid. NUL is a character of one byte. */
size_t utf8_length(const char *text);

/* The character of n_bytes (utf8_length, not 0) shows only itself. It is no control character
 * (U+0000 to U+001F, U+007F to U+009F), no line separator, and does not change the direction of
 * text. */
bool utf8_is_plain(const char *character, size_t n_bytes);

/* Replaces each byte of invalid characters, and of those that are not plain, by '?'. */
void utf8_clean(char *text);

/* utf8_clean would change nothing. */
bool utf8_is_clean(const char *text);

#endif
