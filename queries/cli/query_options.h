/* SPDX-License-Identifier: MIT */
/*
 * query_options: parses the command line of mtrace-query into a query.
 *
 * `mtrace-query [COMMAND] run.db [arguments] [options]`. The database may stand before or after the
 * arguments of the command: it is the first name that is a file (query_names.h). Options are the
 * parameters of the library and a few about the output of this program.
 *
 * Errors: for an unknown option argp prints a message and exits with status 2. All other errors are
 * ERROR_USAGE with one line. --help and --version print and exit with status 0.
 */
#ifndef MTRACE_QUERIES_QUERY_OPTIONS_H
#define MTRACE_QUERIES_QUERY_OPTIONS_H

#include "queries/cli/query_names.h"

#include <stdbool.h>

struct error;
struct queries;

struct command_line {
    struct query_names names;
    const char *output_path; /* NULL: stdout */
    const char *only_file;   /* of the database, if known; NULL: any name may be a file */
    bool is_forced;
    bool is_to_wait; /* first report what the query needs, then wait for the database */
};

/* Fills the query with the parameters and the command, but not with the names. Texts point into
 * argv. */
int query_options_parse(int argc, char **argv, struct queries *question, struct command_line *ret,
                        struct error *err);

#endif
