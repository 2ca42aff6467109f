/* SPDX-License-Identifier: MIT */
/*
 * query: one command on one database: its options, the open database, the output.
 *
 * The public interface (queries.h) fills struct query_options from the client's parameters, opens
 * the database (query_open.h) and calls the command's run function (command.h). The answer goes to
 * `out`, notes beside it go to `note`.
 */
#ifndef MTRACE_QUERIES_QUERY_H
#define MTRACE_QUERIES_QUERY_H

#include "lib/abi/attr.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter.h"
#include "queries/render/render.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct command;
struct error;

enum {
    QUERY_MAX_ARGUMENTS = 4,
    QUERY_SHELL_PATH_BYTES = 4 * 4096,
    QUERY_TABLE_ROWS = 20 /* shown when --count is not given */
};

enum query_order {
    ORDER_DEFAULT,
    ORDER_ASC,
    ORDER_DSC,
};

struct query_options {
    const struct command *command;
    const char *database_path;                  /* NULL for commands that need none */
    const char *arguments[QUERY_MAX_ARGUMENTS]; /* of the command, e.g. a stack's id */
    int n_arguments;
    enum render_format format;
    int64_t count; /* rows wanted; -1: the format's default; 0: all */
    int64_t skip;
    int64_t after_id;       /* rows begin after this allocation; 0: at the first */
    int64_t process_id;     /* 0: all */
    int64_t site_id;        /* 0: all */
    const char *protection; /* of mmaps: letters of required access; NULL: any */
    int64_t peak_rss_min;   /* of mmaps, in bytes; 0: any */
    const char *blame_past; /* regex of functions to skip; NULL: call sites as imported */
    const char *sort_by;
    enum query_order order;
    const char *fail_if;
    const char *suppressions_path;
    const char *export_format; /* of export; NULL: not given */
    const char *measure;   /* weight of a stack (stack_weights.h); NULL: the command's default */
    bool is_by_blocks;     /* weights are blocks, not bytes */
    bool is_inverted;      /* innermost functions first */
    int64_t time_limit_ns; /* 0: none */
    double min_share;      /* smaller nodes are folded; negative: the command's default */
    struct filter filter;
    bool is_wide;
    bool has_stacks; /* print the stack of each row */
    bool is_sql_shown;
    bool is_confidential; /* paths and command lines are left out */
    bool is_untrusted;    /* untrusted request: opens no file but the database */
};

struct query {
    const struct query_options *options;
    struct rundb database;
    struct render_style style;
    FILE *out;
    const char *output_name;                       /* of the file it is; NULL: none */
    void (*note)(void *context, const char *text); /* NULL: notes are dropped */
    void *note_context;
    const struct database_stop *stop;
    struct query_options resolved;           /* the options with PIDs replaced by process ids */
    char shell_path[QUERY_SHELL_PATH_BYTES]; /* of the database, quoted for a shell */
    const struct command *commands;          /* all commands, for advice */
    bool is_elided_noted;                    /* the answer itself says which blocks have no row */
    bool is_of_notes;                        /* only the notes are wanted */
    bool has_failed;                         /* --fail-if holds for a row */
    bool is_empty;                           /* the report has no rows */
};

/* Rows to show: -1 for all. */
int64_t query_max_rows(const struct query *query);

/* The answer is a screen for people, with headlines, not the rows of a view. */
bool query_is_screen(const struct query *query);

/* The name ends in .svg. */
bool query_is_picture(const char *output_name);

/* Gives the client a note beside the answer: one line without a newline. */
void query_note(const struct query *query, const char *format, ...) MTRACE_PRINTF(2, 3);

/* Prints "next: mtrace-query" and these words: a command to run next. Not for untrusted requests,
 * whose client does not know the file's name. */
void query_advise(const struct query *query, const char *format, ...) MTRACE_PRINTF(2, 3);

/* The same for a command; tail is "" or "--filter VALUE". Prints nothing if this database cannot
 * answer the command. */
void query_advise_command(const struct query *query, const char *name, const char *tail);

/* If --show-sql was given, prints the statement with its literals and returns true. */
bool query_show_sql(const struct query *query, struct sqlite3_stmt *stmt);

#endif
