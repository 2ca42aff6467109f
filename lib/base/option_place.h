/* SPDX-License-Identifier: MIT */
/*
 * option_place: options that only say where their value goes, as a table.
 *
 * Model:   a parser of argp looks into its table first; what needs more than to be kept is its own.
 * Failure: as option_value.h.
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
    size_t offset;      /* in what state->input points to */
    const char *option; /* with its hyphens, of what may be wrong */
    uint64_t most;
};

/* false: the key is none of the table's n. */
bool option_place_put(const struct option_place *table, size_t n, int key, char *value,
                      const struct argp_state *state);

#endif
