/* SPDX-License-Identifier: MIT */
/*
 * question_words: the question of a program as words.
 *
 * Model: blanks separate words; '…', "…" and \ quote as in a shell. Nothing else means anything: no variable, no home
 *        folder, no pattern and no command is put in, since who asks may not know what we know.
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

/* NULL, or what is wrong with the text. */
const char *question_words_split(struct question_words *ret, const char *text);

#endif
