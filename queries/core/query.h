/* SPDX-License-Identifier: MIT */
/*
 * query: one question to one database: what was asked, and where the answer goes.
 *
 * Model: the library (queries.h) fills a struct query from what a client says, opens the database (query_open.h), and
 *        calls the command's run function (command.h). Data goes to `out`, remarks to the client's function.
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
    int64_t after_id;       /* the allocation behind which rows begin; 0: at the first */
    int64_t process_id;     /* 0: all */
    int64_t site_id;        /* 0: all */
    const char *protection; /* of mmaps: letters of what must be allowed; NULL: any */
    int64_t peak_rss_min;   /* of mmaps, in bytes; 0: any */
    const char *blame_past; /* a regex of functions; NULL: call sites are as imported */
    const char *sort_by;
    enum query_order order;
    const char *fail_if;
    const char *suppressions_path;
    const char *export_format; /* of export; NULL: not given */
    const char *measure;   /* what stacks weigh (stack_weights.h); NULL: the command's default */
    bool is_by_blocks;     /* blocks count, not bytes */
    bool is_inverted;      /* innermost functions first */
    int64_t time_limit_ns; /* 0: none */
    double min_share;      /* smaller nodes are folded; negative: the command's default */
    struct filter filter;
    bool is_wide;
    bool has_stacks; /* the stack of each row is asked for, too */
    bool is_sql_shown;
    bool is_sealed; /* the database is the only file that is opened */
};

struct query {
    const struct query_options *options;
    struct rundb database;
    struct render_style style;
    FILE *out;
    const char *output_name;                       /* of the file it is; NULL: none */
    void (*note)(void *context, const char *text); /* NULL: nobody wants remarks */
    void *note_context;
    const struct database_stop *stop;
    struct query_options resolved;           /* the options, when opening has made a pid an id */
    char shell_path[QUERY_SHELL_PATH_BYTES]; /* of the database, as the proposed commands have it */
    const struct command *commands;          /* all there are, for what speaks of others */
    bool is_elided_noted;                    /* the answer itself says what was elided */
    bool is_of_notes;                        /* what is beside the answer is asked for alone */
    bool has_failed;                         /* rows were found for which --fail-if holds */
};

/* Rows to show: -1 for all. */
int64_t query_max_rows(const struct query *query);

/* A name that ends in .svg promises a picture. */
bool query_is_picture(const char *output_name);

/* Tells the client what is no part of the answer: one line, without its end. */
void query_note(const struct query *query, const char *format, ...) MTRACE_PRINTF(2, 3);

/* "next: mtrace-query" and the words behind it, as they can be typed: what to ask next of this database. A sealed question gets
 * none: who asked has never heard of the file. */
void query_advise(const struct query *query, const char *format, ...) MTRACE_PRINTF(2, 3);

/* The same of a command, with what follows the name of the database, "" or "--filter VALUE", unless the database does not
 * answer that: it has no rows, or samples alone. */
void query_advise_command(const struct query *query, const char *name, const char *tail);

/* Prints the statement with its literals instead of running it, when that was asked for; true if
 * so. */
bool query_show_sql(const struct query *query, struct sqlite3_stmt *stmt);

#endif
