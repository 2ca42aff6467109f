/* SPDX-License-Identifier: MIT */
/*
 * query_options: the command line of mtrace-query.
 *
 * Model: `mtrace-query [COMMAND] run.db [arguments] [options]`. The database may stand before or
 *        behind a command's argument: the first name that is a file is it.
 * Failure: argp's own messages end the program with status 2 for an unknown option; everything else
 *        is ERROR_USAGE with one line. Help and version print and end the program with status 0.
 */
#ifndef MTRACE_QUERIES_QUERY_OPTIONS_H
#define MTRACE_QUERIES_QUERY_OPTIONS_H

struct error;
struct query_options;

/* Texts of options point into argv. */
int query_options_parse(int argc, char **argv, struct query_options *ret_options,
                        struct error *err);

#endif
