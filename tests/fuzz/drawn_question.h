/* SPDX-License-Identifier: MIT */
/*
 * drawn_question: a question chosen by bytes.
 *
 * Model: any command of mtrace-query, its argument, up to MAX parameters whose values are mostly of
 *        the kind that the parameter wants, and the output format. A parameter that the command
 *        does not take is dropped, so that nearly every drawn question opens the database.
 */
#ifndef MTRACE_FUZZ_DRAWN_QUESTION_H
#define MTRACE_FUZZ_DRAWN_QUESTION_H

#include <stddef.h>
#include <stdint.h>

struct queries;

enum {
    DRAWN_QUESTION_PARAMETERS = 4,
    DRAWN_QUESTION_TEXT_BYTES = 512
};

/* The source of choices. It begins as a hash of the input, so that inputs that differ in one byte
 * ask other questions. */
struct drawn_dice {
    uint64_t state;
};

struct drawn_dice drawn_dice_of(const uint8_t *bytes, size_t size);

struct drawn_question {
    /* of the caller, to be asked and freed; NULL: the command needs a value that was not drawn */
    struct queries *question;
    const char *output_name; /* for queries_output */
    int width;
    char text[DRAWN_QUESTION_TEXT_BYTES]; /* as a person would write it */
};

/* Where the questions are about. */
struct drawn_place {
    const char *path;         /* of the database */
    const char *suppressions; /* a file for the parameter of that name */
    void (*note)(void *context, const char *text);
};

struct drawn_question drawn_question_make(struct drawn_dice *dice, const struct drawn_place *place);

/* A value for a parameter of this kind (struct queries_parameter's value), or for an argument: "an
 * argument: STATEMENT". NULL: the kind is unknown. */
const char *drawn_question_value(unsigned which, const char *wanted);

#endif
