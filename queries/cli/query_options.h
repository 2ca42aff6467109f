/* SPDX-License-Identifier: MIT */
/*
 * query_options: parses the command line of mtrace-query into a query.
 *
 * `mtrace-query [COMMAND] run.db [arguments] [options]`. The database may stand before or after the
 * arguments of the command: it is the first name that is a file. Options are the parameters of the
 * library and a few about the output of this program.
 *
 * Errors are ERROR_USAGE with one line. --help, --usage and --version print and exit with status 0.
 */
#ifndef MTRACE_QUERIES_QUERY_OPTIONS_H
#define MTRACE_QUERIES_QUERY_OPTIONS_H

#include <stdbool.h>

struct command;
struct error;
struct query_request;

enum {
    QUERY_MAX_NAMES = 8
};

/* The names of a command line, sorted out. */
struct query_names {
    const struct command *command;
    const char *database;                   /* NULL for commands that need none */
    const char *arguments[QUERY_MAX_NAMES]; /* of the command */
    int n_arguments;
};

struct command_line {
    struct query_names names;
    const char *output_path; /* NULL: stdout */
    const char *only_file;   /* of the database, if known; NULL: any name may be a file */
    bool is_forced;
    bool is_to_wait; /* first report what the query needs, then wait for the database */
};

/* Fills the query with the parameters and the command, but not with the names. Texts point into
 * argv. */
int query_options_parse(int argc, char **argv, struct query_request *request,
                        struct command_line *ret, struct error *err);

#endif
