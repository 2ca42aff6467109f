/* SPDX-License-Identifier: MIT */
/*
 * parameters: what a question may be told as name=value, in one table: the options here, then the
 * filters (filter.h).
 */
#ifndef MTRACE_QUERIES_PARAMETERS_H
#define MTRACE_QUERIES_PARAMETERS_H

#include "queries/api/queries_parameters.h"
#include "queries/core/query.h"

/* The options of a question that was told nothing. */
void parameters_init(struct query_options *options);

/* index: of queries_find_parameter. text must live as long as the options. */
int parameters_set(struct query_options *options, size_t index, const char *text,
                   struct error *err);

/* ERROR_USAGE when the file is one that the answer is read from. */
int parameters_check_output(const struct query_options *options, const char *output,
                            struct error *err);

/* Whether the command takes what was set, and has the arguments it needs. */
int parameters_check(const struct query_options *options, struct error *err);

#endif
