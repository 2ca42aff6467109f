/* SPDX-License-Identifier: MIT */
/*
 * filter_sql: a filter as SQL with bound values.
 *
 * Model: three conditions over fixed aliases: of stacks (backtraces AS b), of groups
 *        (backtrace_totals AS g) and of rows (allocation_rows AS a with what it needs). Statements
 *        are made of them around the caller's columns: one over rows, one over totals. Values are
 *        ?1, ?2, … in order; a statement may have named parameters of its own behind them.
 *        Where a condition of rows says something of row_ranges AS w, these drive the scan: 4,096 rows
 *        of which none can pass are not read.
 * Failure: ERROR_USAGE for a regex that is none; ERROR_DATABASE from looking up names.
 */
#ifndef MTRACE_QUERIES_FILTER_SQL_H
#define MTRACE_QUERIES_FILTER_SQL_H

#include "queries/filter/filter.h"

#include <stdio.h>

struct rundb;
struct sqlite3_stmt;
struct sqlite3_str;

enum {
    FILTER_SQL_MAX_BOUND = 2 * FILTER_MAX_VALUES + 16
};

struct filter_bound {
    char *text; /* sqlite3_free; NULL: number or share */
    int64_t number;
    double share;
    bool is_share;
};

struct filter_sql {
    const struct rundb *database;
    struct sqlite3_str *stack; /* " AND condition" each */
    struct sqlite3_str *group;
    struct sqlite3_str *row;
    struct sqlite3_str *range; /* the same of row_ranges AS w; empty: they are not asked */
    unsigned needs;            /* enum filter_need of the rows' conditions */
    bool is_of_one_process;    /* the process is known: no row needs to be asked for its own */
    bool has_ranges;           /* row_ranges are asked, and find the rows that are read */
    bool is_restricted;        /* there are other processes than process_id */
    int64_t process_id;        /* 0: all */
    int64_t from_ns, to_ns;    /* the range of births that is asked for */
    int64_t start_ns, end_ns;  /* what percentages of time are taken of */
    struct filter_bound bound[FILTER_SQL_MAX_BOUND];
    size_t n_bound;
};

/* process_id and site_id: 0 for all. Call filter_sql_done in any case. */
int filter_sql_init(struct filter_sql *sql, const struct rundb *database,
                    const struct filter *filter, int64_t process_id, int64_t site_id,
                    struct error *err);
void filter_sql_done(struct filter_sql *sql);

/* The instant, span or number of a value that is neither text nor word. */
int64_t filter_sql_resolve(const struct filter_sql *sql, const struct filter_value *value);

/* Of `from` or `to`, of which one value must hold, that which most births pass; NULL: none is given. */
const struct filter_value *filter_sql_widest(const struct filter_sql *sql,
                                             const struct filter *filter, const char *name);

/* Both as a time that is looked at, INT64_MIN and INT64_MAX where none is given. ERROR_USAGE: it is none. */
int filter_sql_range(const struct filter_sql *sql, const struct filter *filter,
                     int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err);

/* "SELECT columns FROM allocation_rows AS a … WHERE …" followed by tail; sqlite3_free it, NULL: no
 * memory. extra_needs: what the columns read beside a. */
char *filter_sql_rows(const struct filter_sql *sql, const char *columns, unsigned extra_needs,
                      const char *tail);

/* " AND …": only rows behind this id, or before it; sqlite3_free it, NULL: no memory. */
char *filter_sql_beyond(const struct filter_sql *sql, int64_t id, bool is_before);

/* What such a statement is ordered by to come in the order of ids, without being sorted. */
const char *filter_sql_id_order(const struct filter_sql *sql, bool is_dsc);

/* All rows in the order of ids. */
char *filter_sql_rows_by_id(const struct filter_sql *sql, const char *columns);

/* " AND column IN (the stacks that pass)", "" where all do; sqlite3_free it, NULL: no memory. */
char *filter_sql_stacks(const struct filter_sql *sql, const char *column);

/* "SELECT columns FROM main.backtrace_totals AS g WHERE …": for filters without row conditions. */
char *filter_sql_totals(const struct filter_sql *sql, const char *columns);

void filter_sql_bind(const struct filter_sql *sql, struct sqlite3_stmt *stmt);

/* "-- What the table below is made of:", where what is "the table below is", and the statement with its values. It frees the text
 * of the statement; NULL: there was no memory for it. */
int filter_sql_show(const struct filter_sql *sql, char *text, const char *what, FILE *out,
                    struct error *err);

/* Fills a table of temp with the rows of such a statement, with its values. It frees the text of the statement; NULL: there was no
 * memory for it. */
int filter_sql_insert(const struct filter_sql *sql, const char *table, char *select,
                      struct error *err);

#endif
