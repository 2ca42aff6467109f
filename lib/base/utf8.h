/* SPDX-License-Identifier: MIT */
/* utf8: characters of texts that may be any bytes. */
#ifndef MTRACE_LIB_UTF8_H
#define MTRACE_LIB_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at text, which ends with NUL; 0: there is none. Overlong forms,
 * surrogates and what is above U+10FFFF are none. NUL is a character of one byte. */
size_t utf8_length(const char *text);

#endif
