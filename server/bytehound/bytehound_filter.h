/* SPDX-License-Identifier: MIT */
/*
 * bytehound_filter: bytehound's filter parameters as our filter, and which rows of the answer are wanted.
 *
 * Model:   names and words are ours or are renamed; times, which bytehound gives in milliseconds since the
 *          epoch, and the place in a chain, which it counts from 0, are recomputed. What we have no filter
 *          for is a condition of its own over allocation_rows AS a.
 * Failure: ERROR_USAGE names the parameter.
 */
#ifndef MTRACE_SERVER_BYTEHOUND_FILTER_H
#define MTRACE_SERVER_BYTEHOUND_FILTER_H

#include "queries/filter/filter.h"
#include "queries/filter/filter_sql.h"

#include <stdbool.h>
#include <stdint.h>

struct bytehound;
struct error;

enum {
    BYTEHOUND_TEXT_BYTES = 64
};

struct bytehound_filter {
    struct filter filter;
    struct filter_sql sql;
    struct sqlite3_str *more; /* " AND …" over allocation_rows AS a; or over mmaps AS m */
    char texts[FILTER_MAX_VALUES][BYTEHOUND_TEXT_BYTES]; /* that the filter points to */
    int64_t skip, count;                                 /* count -1: all */
    const char *sort_by;                                 /* NULL: not given */
    bool is_descending;
};

/* Whether the endpoint takes the request's parameters, and these their values: before the database is opened. */
int bytehound_filter_check(const struct bytehound *self, struct error *err);

/* Of what the endpoint takes. Conditions of mappings are about mmaps AS m, whose stack is its mapping's. Call
 * bytehound_filter_done in any case. */
int bytehound_filter_init(struct bytehound_filter *filter, const struct bytehound *self,
                          struct error *err);
void bytehound_filter_done(struct bytehound_filter *filter);

/* "SELECT columns FROM … WHERE …", then tail; sqlite3_free. NULL: no memory. */
char *bytehound_filter_rows(const struct bytehound_filter *filter, const char *columns,
                            const char *tail);

/* Whether totals by stack answer: nothing is asked of rows. */
bool bytehound_filter_is_of_groups(const struct bytehound_filter *filter);

/* The statement of a text that rows or totals gave, with the filter's values; frees the text. */
int bytehound_filter_prepare(const struct bytehound_filter *filter, const struct bytehound *self,
                             char *sql, struct sqlite3_stmt **ret_stmt, struct error *err);

/* What a list may be sorted by; the first of them unless another is asked for, behind the last NULL. */
struct bytehound_sort_key {
    const char *name;
    const char *column;
};

/* The column to sort by; ERROR_USAGE for none of the names. */
int bytehound_filter_key(const struct bytehound_filter *filter,
                         const struct bytehound_sort_key *keys, const char **ret_column,
                         struct error *err);

/* Ends the list with how many rows match: the number that `sql` (which it frees) gives. */
int bytehound_filter_put_total(const struct bytehound_filter *filter, const struct bytehound *self,
                               char *sql, struct error *err);

#endif
