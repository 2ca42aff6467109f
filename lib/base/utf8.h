/* SPDX-License-Identifier: MIT */
/* utf8: characters of texts that may contain any bytes. */
#ifndef MTRACE_LIB_UTF8_H
#define MTRACE_LIB_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at text, which ends with NUL; 0 if it is invalid. Overlong
 * forms, surrogates and values above U+10FFFF are invalid. NUL is a character of one byte. */
size_t utf8_length(const char *text);

#endif
