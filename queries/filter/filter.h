/* SPDX-License-Identifier: MIT */
/*
 * filter: the allocations that a query selects; one grammar for all commands.
 *
 * filter_parameters[] defines each parameter once: name, type, SQL and help. Option parsing, help,
 * name=value pairs and the compiler (filter_sql.h) read this table. A parameter is written as
 * --size-min 4KiB or size_min=4KiB.
 *
 * Different parameters are combined by AND, repeated values of one parameter by OR, or by AND if
 * `is_conjunctive`. OR also combines words of different scopes: lifetime=all holds beside any
 * other.
 *
 * A stack parameter depends on the backtrace only, a group parameter on the totals of process and
 * backtrace: totals answer both. A row parameter needs a scan of all allocations.
 *
 * Errors: ERROR_USAGE names the parameter, its value, and what is allowed.
 */
#ifndef MTRACE_QUERIES_FILTER_H
#define MTRACE_QUERIES_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    FILTER_MAX_VALUES = 64
};

enum filter_type {
    FILTER_TIME,    /* since the start of the recording, or a share of it */
    FILTER_INSTANT, /* the same, or "peak" or "end" */
    FILTER_DURATION,
    FILTER_DURATION_OR_SHARE,
    FILTER_BYTES,
    FILTER_COUNT,
    FILTER_COUNT_OR_SHARE,
    FILTER_ADDRESS,
    FILTER_WORD, /* one of filter_words */
    FILTER_TEXT,
    FILTER_REGEX,
};

enum filter_scope {
    FILTER_SCOPE_STACK,
    FILTER_SCOPE_GROUP,
    FILTER_SCOPE_ROW,
};

/* Tables that a condition reads in addition to allocation_rows AS a. */
enum filter_need {
    FILTER_NEEDS_PROCESS = 1, /* processes AS p */
    FILTER_NEEDS_CHAIN = 2,   /* chain_rows AS c, realloc_chains AS k; NULL if never reallocated */
    FILTER_NEEDS_TOTALS = 4,  /* backtrace_totals AS g */
    FILTER_NEEDS_CHARGE = 8,  /* group_rows AS q; NULL if only the root is involved */
};

struct filter_word {
    const char *name;
    const char *sql;
    enum filter_scope scope;
    unsigned needs;
    const char *range_sql; /* as in filter_parameter */
};

struct filter_parameter {
    const char *name;  /* size_min; NULL ends the table */
    const char *value; /* SIZE, in help */
    enum filter_type type;
    enum filter_scope scope;
    unsigned needs;
    const char *sql; /* condition, with @ for the bound value, $FROM and $TO for the range; NULL:
                        regex, word or marker */
    const char *share_sql; /* the same for a value in percent that is not a time */
    const struct filter_word *words;
    const char *names_sql; /* valid values of a text, one per row; NULL: any */
    const char
        *range_sql;    /* over row_ranges AS w: true if one of its rows may match; NULL: unknown */
    const char *alias; /* another name; NULL: none */
    bool is_conjunctive;
    const char *help;
};

extern const struct filter_parameter filter_parameters[];

struct filter_value {
    const struct filter_parameter *parameter;
    const char *text; /* as written */
    const struct filter_word *word;
    int64_t number;
    double share; /* of FILTER_…SHARE and times, if is_share */
    bool is_share;
    bool is_peak;
    bool is_end;
};

struct filter {
    struct filter_value values[FILTER_MAX_VALUES];
    size_t n_values;
};

/* The text of `length` characters is this name; "-" equals "_". A NULL name matches nothing. */
bool filter_is_name(const char *name, const char *text, size_t length);

/* Finds a parameter by name ("-" equals "_") or alias; NULL: unknown. */
const struct filter_parameter *filter_find(const char *name, size_t length);

/* The first value of alive_at; NULL: none. */
const struct filter_value *filter_instant(const struct filter *filter);

/* Why samples cannot answer this filter; NULL: they can. */
const char *filter_beyond_samples(const struct filter *filter);

/* text must live as long as the filter. */
int filter_add(struct filter *filter, const struct filter_parameter *parameter, const char *text,
               struct error *err);

/* The widest scope of all values: ROW over GROUP over STACK. Empty filters are
 * FILTER_SCOPE_STACK. */
enum filter_scope filter_scope_of(const struct filter *filter);

enum filter_scope filter_value_scope(const struct filter_value *value);
unsigned filter_value_needs(const struct filter_value *value);

#endif
