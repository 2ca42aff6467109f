/* SPDX-License-Identifier: MIT */
/*
 * parameters: the options and filters of a query as name=value. One table: the options of this
 * module, then the filters (filter.h).
 */
#ifndef MTRACE_QUERIES_PARAMETERS_H
#define MTRACE_QUERIES_PARAMETERS_H

#include "queries/api/queries_parameters.h"
#include "queries/core/query.h"

/* Sets the defaults. */
void parameters_init(struct query_options *options);

/* index: of queries_find_parameter. text must live as long as the options. */
int parameters_set(struct query_options *options, size_t index, const char *text,
                   struct error *err);

/* ERROR_USAGE if the output is a file that the query reads. */
int parameters_check_output(const struct query_options *options, const char *output,
                            struct error *err);

/* Fails unless the command takes these options and has the arguments it needs. */
int parameters_check(const struct query_options *options, struct error *err);

#endif
