/* SPDX-License-Identifier: MIT */
/*
 * random_query: a query chosen by bytes.
 *
 * Model: any command of mtrace-query, its argument, up to MAX parameters whose values are mostly of
 *        the kind that the parameter wants, and the output format. A parameter that the command
 *        does not take is dropped, so that nearly every drawn query opens the database.
 */
#ifndef MTRACE_FUZZ_RANDOM_QUERY_H
#define MTRACE_FUZZ_RANDOM_QUERY_H

#include <stddef.h>
#include <stdint.h>

struct query_request;

/* Parts of a text, with "|" between them. */
struct word_list {
    const char *text;
    const char *at[80];
    unsigned n;
};

/* How many there are; `at` has them from then on. */
unsigned word_list_split(struct word_list *list);

enum {
    RANDOM_QUERY_PARAMETERS = 4,
    RANDOM_QUERY_TEXT_BYTES = 512
};

/* The source of choices. It begins as a hash of the input, so that inputs that differ in one byte
 * ask other queries. */
struct drawn_dice {
    uint64_t state;
};

struct drawn_dice drawn_dice_of(const uint8_t *bytes, size_t size);

struct random_query {
    /* of the caller, to be asked and freed; NULL: the command needs a value that was not drawn */
    struct query_request *query;
    const char *output_name; /* for queries_output */
    int width;
    char text[RANDOM_QUERY_TEXT_BYTES]; /* as a person would write it */
};

/* The database and the files of the queries. */
struct drawn_place {
    const char *path;         /* of the database */
    const char *suppressions; /* a file for the parameter of that name */
    void (*note)(void *context, const char *text);
};

struct random_query random_query_make(struct drawn_dice *dice, const struct drawn_place *place);

/* A value for a parameter of this kind (struct queries_parameter's value), or for an argument: "an
 * argument: STATEMENT". NULL: the kind is unknown. */
const char *random_query_value(unsigned which, const char *wanted);

#endif
