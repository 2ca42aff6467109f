/* SPDX-License-Identifier: MIT */
/*
 * question_words: splits a program's request into words.
 *
 * Blanks separate words; '…', "…" and \ quote as in a shell. There are no variables, home folders,
 * patterns or commands: the program may have fewer privileges than mtrace-record.
 */
#ifndef MTRACE_RECORDER_QUESTION_WORDS_H
#define MTRACE_RECORDER_QUESTION_WORDS_H

#include <stddef.h>

enum {
    QUESTION_WORDS_MOST = 64,
    QUESTION_WORDS_BYTES = 2048,
};

struct question_words {
    const char *words[QUESTION_WORDS_MOST];
    size_t n;
    char text[QUESTION_WORDS_BYTES]; /* the words, each with its NUL */
};

/* NULL, or an error text. */
const char *question_words_split(struct question_words *ret, const char *text);

#endif
