/* SPDX-License-Identifier: MIT */
/*
 * command: what can be asked, as one row of a table.
 *
 * Model: a report is a command with a view and report_run; what needs more has a file cmd_<name>.c
 *        with a function of its own. The table of all commands (commands.h) lies above everything
 *        that answers; what answers sees it as query->commands.
 */
#ifndef MTRACE_QUERIES_COMMAND_H
#define MTRACE_QUERIES_COMMAND_H

#include "lib/logfile/left_out.h"

#include <stdbool.h>
#include <stdio.h>

struct error;
struct filter;
struct filter_sql;
struct query;
struct rundb;

/* Which filters a command can answer for. */
enum command_filters {
    COMMAND_FILTERS_NONE,
    COMMAND_FILTERS_STACKS, /* of stacks and groups: it reads totals by stack */
    COMMAND_FILTERS_ALL,    /* its totals can be made anew from rows */
    COMMAND_FILTERS_ROWS,   /* it reads rows itself */
};

struct command {
    const char *name;   /* NULL ends a table */
    const char *view;   /* the view or table it prints; NULL: none */
    const char *source; /* "(SELECT …)" that is shown in place of the view; NULL: the view itself */
    const char *columns;     /* of the view that a narrow table shows; NULL: all */
    const char *rare_column; /* of these: shown where a row has it, and it is not 0; NULL: none */
    const char *argument;    /* "ID", "NAME", … in help; NULL: takes none */
    const char *help;        /* one line; a page has it as its heading */
    const char *how;         /* what a command line says behind it: its options; NULL: nothing */
    const char *next;        /* printed below a table: the command one level deeper; NULL: none */
    const char *next_tail;   /* what follows the file's name there */
    /* Of rows by call site that can show a stack: the column of backtrace_totals by which the heaviest stands for all; "" where
     * a row is of one stack; NULL: rows have no stacks. */
    const char *stacks_by;
    /* Puts the filters where the answer finds them; NULL: `remake`, or query_install_filters (query_open.h). */
    int (*install)(struct query *query, struct error *err);
    /* Where rows are no totals by stack: with any filter it makes the tables behind them anew, of rows of allocations. */
    int (*remake)(struct rundb *database, const struct filter_sql *filter, struct error *err);
    /* Where `remake` is about other rows than those of malloc: puts these in front of them, or refuses what is asked of them; NULL: it is not.
     * show_sql: or NULL. */
    int (*stand_in)(struct rundb *database, const struct filter *filter, FILE *show_sql,
                    struct error *err);
    int (*run)(struct query *query, struct error *err);
    bool needs_database;
    bool needs_rows;           /* of allocations, whatever is asked: a slim import has none */
    bool wants_rows;           /* says less without them */
    enum left_out_needs needs; /* whatever is asked, of what is no row */
    bool is_argument_optional;
    bool has_sites;      /* speaks of call sites: takes --blame-past */
    bool is_of_mappings; /* takes --protection and --peak-rss-min */
    bool has_headline;   /* its screen says itself what of the log was lost */
    bool has_measure;    /* takes --measure and --by */
    bool has_tree;       /* takes --bottom-up and --min-share */
    bool has_instant;    /* about heaps: takes --at, once, whatever `filters` says */
    bool is_over_time;   /* about growth: --from and --to are the time that is looked at */
    bool is_of_leaks;    /* and nothing else: with --at, those of an end at that instant */
    bool has_own_peaks;  /* shows the stacks' own peaks */
    bool has_no_rows;    /* takes no --fail-if, --sort-by, --order, --count or --skip */
    bool has_count;      /* but takes the last two */
    bool has_after;      /* rows are allocations: takes --after */
    bool draws;          /* its answer is a picture, whatever --format says */
    bool can_draw;       /* its answer is a picture when the name of the output says so */
    bool needs_instant;  /* is nothing without --at */
    bool has_format;     /* takes a format as --to */
    /* Of COMMAND_FILTERS_NONE: why that is so; NULL: it goes without saying. */
    const char *why_unfiltered;
    const char *why_unsampled; /* why samples do not answer it, whatever is asked; NULL: they may */
    enum command_filters filters;
};

/* NULL: the table has none of that name. */
const struct command *command_find(const struct command *table, const char *name);

#endif
