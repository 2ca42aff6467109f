/* SPDX-License-Identifier: MIT */
/*
 * query_names: which of the names on the command line is the command, which the database, and whether
 * the command takes what else was given.
 */
#ifndef MTRACE_QUERIES_QUERY_NAMES_H
#define MTRACE_QUERIES_QUERY_NAMES_H

struct error;
struct query_options;

/* Fills command, database_path and arguments; names are sorted in place and must outlive options. */
int query_names_assign(struct query_options *options, const char **names, int n_names,
                       struct error *err);

#endif
