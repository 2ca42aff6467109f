/* SPDX-License-Identifier: MIT */
/*
 * option_place: a table of command-line options whose values are only stored.
 *
 * An argp parser looks into its table first and handles all other options itself. Fails like
 * option_value.h.
 */
#ifndef MTRACE_LIB_OPTION_PLACE_H
#define MTRACE_LIB_OPTION_PLACE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* False: the key is not in the table. */
bool option_place_put(const struct option_place *table, size_t n, int key, char *value,
                      const struct argp_state *state);

#endif
