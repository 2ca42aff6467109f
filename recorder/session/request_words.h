/* SPDX-License-Identifier: MIT */
/*
 * request_words: splits a program's request into words.
 *
 * Blanks separate words; '…', "…" and \ quote as in a shell. There are no variables, home folders,
 * patterns or commands: the program may have fewer privileges than mtrace-record.
 */
#ifndef MTRACE_RECORDER_REQUEST_WORDS_H
#define MTRACE_RECORDER_REQUEST_WORDS_H

#include <stddef.h>

enum {
    REQUEST_WORDS_MAX = 64,
    REQUEST_WORDS_BYTES = 2048,
};

struct request_words {
    const char *words[REQUEST_WORDS_MAX];
    size_t n;
    char text[REQUEST_WORDS_BYTES]; /* the words, each with its NUL */
};

/* NULL, or an error text. */
const char *request_words_split(struct request_words *ret, const char *text);

#endif
