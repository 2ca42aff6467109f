/* SPDX-License-Identifier: MIT */
/*
 * option_value: parses values of command-line options, and stores those that are only stored. On
 * failure argp prints why and exits with status 2.
 */
#ifndef MTRACE_LIB_OPTION_VALUE_H
#define MTRACE_LIB_OPTION_VALUE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In bytes. `option` with its hyphens. */
uint64_t option_value_size(const struct argp_state *state, const char *option, const char *text);

/* Decimal, 0 to `most`. */
uint64_t option_value_number(const struct argp_state *state, const char *option, const char *text,
                             uint64_t most);

/* In nanoseconds, never 0. */
uint64_t option_value_duration(const struct argp_state *state, const char *option,
                               const char *text);

/* Call at ARGP_KEY_INIT: argp's messages quote with '…', as all others do, not with `…'. */
void option_value_quote_plainly(struct argp_state *state);

/* ---- options that are only stored ---- */

enum option_place_kind {
    OPTION_PLACE_FLAG,     /* bool: true when it is given */
    OPTION_PLACE_TEXT,     /* const char *: points into argv */
    OPTION_PLACE_SIZE,     /* uint64_t, in bytes */
    OPTION_PLACE_DURATION, /* uint64_t, in nanoseconds, never 0 */
    OPTION_PLACE_NUMBER,   /* uint64_t, 0 to `most` */
};

struct option_place {
    int key;
    enum option_place_kind kind;
    size_t offset;      /* in the struct at state->input */
    const char *option; /* with its hyphens, for messages */
    uint64_t most;
};

/* A table of options whose values are only stored. An argp parser looks into its table first and
 * handles all other options itself. False: the key is not in the table. */
bool option_place_put(const struct option_place *table, size_t n, int key, char *value,
                      const struct argp_state *state);

#endif
