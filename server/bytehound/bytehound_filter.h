/* SPDX-License-Identifier: MIT */
/*
 * bytehound_filter: translates bytehound's parameters to our filter, page and order.
 *
 * Names and words are equal or renamed. Chain positions (bytehound: from 0) and times are
 * converted. A time is a share of the run or a number since the epoch: below 10^11 in seconds, as
 * in bytehound's first versions, else in milliseconds, as in 0.11. `to` includes the whole second
 * or millisecond.
 *
 * Errors: ERROR_USAGE names the parameter.
 */
#ifndef MTRACE_SERVER_BYTEHOUND_FILTER_H
#define MTRACE_SERVER_BYTEHOUND_FILTER_H

#include "queries/filter/filter.h"

#include <stdbool.h>
#include <stdint.h>

struct bytehound;
struct error;

enum {
    BYTEHOUND_TEXT_BYTES = 64
};

struct bytehound_filter {
    struct filter filter;
    char texts[FILTER_MAX_VALUES][BYTEHOUND_TEXT_BYTES]; /* texts that the filter points to */
    int64_t skip, count;                                 /* count -1: all */
    const char *sort_by;                                 /* NULL: not given */
    bool is_descending;
};

/* Reads the parameters of the request. Before the database is open, this checks their syntax: times
 * are then read as if the recording began at the epoch. */
int bytehound_filter_read(struct bytehound_filter *filter, const struct bytehound *self,
                          struct error *err);

#endif
