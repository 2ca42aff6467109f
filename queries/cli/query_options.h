/* SPDX-License-Identifier: MIT */
/*
 * query_options: the command line of mtrace-query, as a question.
 *
 * Model: `mtrace-query [COMMAND] run.db [arguments] [options]`. The database may stand before or
 *        behind a command's argument: the first name that is a file is it (query_names.h).
 *        Options are those of the library, and a few about this program's output.
 * Failure: argp's own messages end the program with status 2 for an unknown option; everything else
 *        is ERROR_USAGE with one line. Help and version print and end the program with status 0.
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
    const char *only_file;   /* NULL: any name may be of one */
    bool is_forced;
    bool
        is_to_wait; /* what the question needs is wanted first, and the answer when the database is there */
};

/* Texts point into argv; the question has its parameters and its command, not its names. */
int query_options_parse(int argc, char **argv, struct queries *question, struct command_line *ret,
                        struct error *err);

#endif
