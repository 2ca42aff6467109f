/* SPDX-License-Identifier: MIT */
/*
 * filter_sql: compiles a filter to SQL with bound values.
 *
 * It makes three conditions over fixed aliases: of stacks (backtraces AS b), of groups
 * (backtrace_totals AS g) and of rows (allocation_rows AS a and what it needs). Statements over
 * rows or over totals combine them with the caller's columns. Values are ?1, ?2, … in order; a
 * statement may have named parameters after them. If conditions of rows imply conditions of
 * row_ranges AS w, these drive the scan: it skips ranges of 4,096 rows of which none can match.
 *
 * Errors: ERROR_USAGE for an invalid regex; ERROR_DATABASE from looking up names.
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
    char *text; /* free with sqlite3_free; NULL: number or share */
    int64_t number;
    double share;
    bool is_share;
};

struct filter_sql {
    const struct rundb *database;
    struct sqlite3_str *stack; /* " AND condition" each */
    struct sqlite3_str *group;
    struct sqlite3_str *row;
    struct sqlite3_str *range; /* the same over row_ranges AS w; empty: they are not used */
    unsigned needs;            /* enum filter_need of the conditions of rows */
    bool is_of_one_process;    /* all rows are of one process: no need to test each row */
    bool has_ranges;           /* row_ranges select the rows to read */
    bool is_restricted;        /* the file has processes other than process_id */
    int64_t process_id;        /* 0: all */
    int64_t from_ns, to_ns;    /* the range of allocation times */
    int64_t start_ns, end_ns;  /* 100 % of a time in percent */
    struct filter_bound bound[FILTER_SQL_MAX_BOUND];
    size_t n_bound;
};

/* process_id and site_id: 0 for all. Call filter_sql_done also after a failure. */
int filter_sql_init(struct filter_sql *sql, const struct rundb *database,
                    const struct filter *filter, int64_t process_id, int64_t site_id,
                    struct error *err);
void filter_sql_done(struct filter_sql *sql);

/* The time, duration or number of a value that is neither text nor word. */
int64_t filter_sql_resolve(const struct filter_sql *sql, const struct filter_value *value);

/* The value of a repeated `from` or `to` that most allocations pass, as one value must hold; NULL:
 * not given. */
const struct filter_value *filter_sql_widest(const struct filter_sql *sql,
                                             const struct filter *filter, const char *name);

/* The range from `from` to `to`; INT64_MIN and INT64_MAX if not given. ERROR_USAGE: it is empty. */
int filter_sql_range(const struct filter_sql *sql, const struct filter *filter,
                     int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err);

/* A time outside the run is an error, not an empty answer; only the end may be exceeded. The filter
 * may have more values than that of `sql`. */
int filter_sql_check_instants(const struct filter_sql *sql, const struct filter *filter,
                              struct error *err);

/* "SELECT columns FROM allocation_rows AS a … WHERE …" followed by tail. Free with sqlite3_free;
 * NULL: no memory. extra_needs: the tables that the columns read beside a. */
char *filter_sql_rows(const struct filter_sql *sql, const char *columns, unsigned extra_needs,
                      const char *tail);

/* " AND …": only rows after this id, or before it. Free with sqlite3_free; NULL: no memory. */
char *filter_sql_beyond(const struct filter_sql *sql, int64_t id, bool is_before);

/* The ORDER BY of such a statement that returns rows in the order of ids without a sort. */
const char *filter_sql_id_order(const struct filter_sql *sql, bool is_dsc);

/* All rows in the order of ids. Free with sqlite3_free; NULL: no memory. */
char *filter_sql_rows_by_id(const struct filter_sql *sql, const char *columns);

/* " AND column IN (the stacks that pass)", "" if all pass. sqlite3_free it; NULL: no memory. */
char *filter_sql_stacks(const struct filter_sql *sql, const char *column);

/* "SELECT columns FROM main.backtrace_totals AS g WHERE …": for filters without row conditions. */
char *filter_sql_totals(const struct filter_sql *sql, const char *columns);

void filter_sql_bind(const struct filter_sql *sql, struct sqlite3_stmt *stmt);

/* Prints "-- What the table below is made of:" and the statement with its values. what: replaces
 * "the table below is". Frees the text of the statement; NULL text: there was no memory for it. */
int filter_sql_show(const struct filter_sql *sql, char *text, const char *what, FILE *out,
                    struct error *err);

/* Fills a TEMP table with the rows of such a statement. Frees the text of the statement; NULL text:
 * there was no memory for it. */
int filter_sql_insert(const struct filter_sql *sql, const char *table, char *select,
                      struct error *err);

#endif
