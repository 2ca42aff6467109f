/* SPDX-License-Identifier: MIT */
/*
 * command: one command of mtrace-query, as a row of a table.
 *
 * A simple report is a view and report_run. Other commands have a run function in cmd_<name>.c. The
 * table of all commands is in commands.h, above the reports; they reach it as query->commands.
 */
#ifndef MTRACE_QUERIES_COMMAND_H
#define MTRACE_QUERIES_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

struct error;
struct filter;
struct filter_sql;
struct query;
struct rundb;

/* Which filters a command takes. */
enum command_filters {
    COMMAND_FILTERS_NONE,
    COMMAND_FILTERS_STACKS, /* those of stacks and groups: it reads totals by stack */
    COMMAND_FILTERS_ALL,    /* all: its totals can be computed from rows */
    COMMAND_FILTERS_ROWS,   /* all: it reads rows itself */
};

/* The part of the list of commands that a command without `start` is in. */
enum command_topic {
    COMMAND_TOPIC_OTHER,
    COMMAND_TOPIC_STACKS,
    COMMAND_TOPIC_BLOCKS,
    COMMAND_TOPIC_HEAPS,
    COMMAND_TOPIC_PROCESS,
    COMMAND_TOPIC_API,
};

struct command {
    const char *name;   /* NULL ends a table */
    const char *view;   /* the view or table it prints; NULL: none */
    const char *source; /* "(SELECT …)" that is shown in place of the view; NULL: the view itself */
    const char *columns;     /* of the view that a narrow table shows; NULL: all */
    const char *rare_column; /* one of these, shown if a row has a value other than 0; NULL: none */
    const char *argument;    /* "ID", "NAME", … in help; NULL: takes none */
    const char *help;        /* one line; a page has it as its heading */
    const char
        *start; /* of commands to start with: the line on the first screen of help; NULL: others */
    const char *how;          /* its options, in help; NULL: none */
    const char *without_rows; /* what an answer without rows means; NULL: obvious */
    const char *next;         /* printed below a table: the command one level deeper; NULL: none */
    /* What follows the file's name there; {column} stands for the value in the first row with
     * blocks. */
    const char *next_tail;
    /* --stacks: the column of backtrace_totals that chooses the stack of a call site; "": a row has
     * one stack; NULL: rows have none. */
    const char *stacks_by;
    /* Applies the filters; NULL: `remake`, or query_install_filters (query_open.h). */
    int (*install)(struct query *query, struct error *err);
    /* Computes the tables behind the view from filtered rows; NULL: filters of totals by stack
     * suffice. */
    int (*remake)(struct rundb *database, const struct filter_sql *filter, struct error *err);
    /* If `remake` reads other rows than those of malloc: replaces them by filtered ones, or refuses
     * the filter. NULL: not needed. show_sql may be NULL. */
    int (*stand_in)(struct rundb *database, const struct filter *filter, FILE *show_sql,
                    struct error *err);
    int (*run)(struct query *query, struct error *err);
    /* Of commands that report_run answers: prints lines below a table with rows; NULL: none. */
    int (*below)(struct query *query, struct error *err);
    bool needs_database;
    bool needs_rows;        /* always reads rows of allocations: a slim import has none */
    bool wants_rows;        /* has less to show without them */
    bool is_kept_unbounded; /* of phases, pools or objects, which a log of --aggregate leaves out */
    bool is_argument_optional;
    bool has_sites;      /* shows call sites: takes --blame-past */
    bool is_of_mappings; /* takes --protection and --peak-rss-min */
    bool has_headline;   /* prints itself what the log has lost */
    bool has_measure;    /* takes --measure and --by */
    bool has_tree;       /* takes --bottom-up and --min-share */
    bool has_instant;    /* about heaps: takes one --at, whatever `filters` is */
    bool is_over_time;   /* about growth: --from and --to are the analysis range */
    bool is_of_leaks;    /* only about leaks: with --at, as if the run had ended then */
    bool has_own_peaks;  /* shows peaks of stacks */
    bool has_functions;  /* reads totals of functions or modules */
    bool has_no_rows;    /* takes no --fail-if, --sort-by, --order, --count or --skip */
    bool has_count;      /* takes the last two although it has no rows */
    bool has_after;      /* rows are allocations: takes --after */
    bool draws;          /* the answer is a picture, whatever --format says */
    bool can_draw;       /* the answer is a picture if the output's name ends in .svg */
    bool needs_instant;  /* requires --at */
    bool has_format;     /* takes a format as --to */
    const char
        *why_unfiltered;       /* reason for COMMAND_FILTERS_NONE, for the message; NULL: obvious */
    const char *why_unsampled; /* why samples cannot answer it; NULL: they can */
    enum command_filters filters;
    enum command_topic topic;
};

/* NULL: the table has no command of this name. */
const struct command *command_find(const struct command *table, const char *name);

#endif
