/* SPDX-License-Identifier: MIT */
/*
 * bytehound_filter: translates bytehound's filter parameters to our filter, and the wanted rows.
 *
 * Names and words are equal or renamed. Times (bytehound: milliseconds since the epoch) and chain
 * positions (bytehound: from 0) are converted. Filters that we lack become conditions over
 * allocation_rows AS a.
 *
 * Errors: ERROR_USAGE names the parameter.
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
    char texts[FILTER_MAX_VALUES][BYTEHOUND_TEXT_BYTES]; /* texts that the filter points to */
    int64_t skip, count;                                 /* count -1: all */
    const char *sort_by;                                 /* NULL: not given */
    bool is_descending;
};

/* Checks the parameters of the request and their values, before the database is opened. */
int bytehound_filter_check(const struct bytehound *self, struct error *err);

/* Compiles the filter. Conditions of mappings are over mmaps AS m, whose stack is that of the
 * mapping. Call bytehound_filter_done also after a failure. */
int bytehound_filter_init(struct bytehound_filter *filter, const struct bytehound *self,
                          struct error *err);
void bytehound_filter_done(struct bytehound_filter *filter);

/* "SELECT columns FROM … WHERE …" followed by tail. Free with sqlite3_free; NULL: no memory. */
char *bytehound_filter_rows(const struct bytehound_filter *filter, const char *columns,
                            const char *tail);

/* The filter has no condition of rows: totals by stack suffice. */
bool bytehound_filter_is_of_groups(const struct bytehound_filter *filter);

/* Prepares the text of a statement with the values of the filter; frees the text. */
int bytehound_filter_prepare(const struct bytehound_filter *filter, const struct bytehound *self,
                             char *sql, struct sqlite3_stmt **ret_stmt, struct error *err);

/* Sort keys of a list, ended by NULL. The first is the default. */
struct bytehound_sort_key {
    const char *name;
    const char *column;
};

/* The column to sort by; ERROR_USAGE for an unknown name. */
int bytehound_filter_key(const struct bytehound_filter *filter,
                         const struct bytehound_sort_key *keys, const char **ret_column,
                         struct error *err);

/* Ends the list with the number of matching rows, which `sql` selects; frees sql. */
int bytehound_filter_put_total(const struct bytehound_filter *filter, const struct bytehound *self,
                               char *sql, struct error *err);

#endif
