/* SPDX-License-Identifier: MIT */
/*
 * query_open: what comes before and after a command's run function.
 *
 * Model: opening checks that the database can answer what is asked, and puts filters, suppressions
 *        and notes where the commands find them; commands include query.h alone.
 */
#ifndef MTRACE_QUERIES_QUERY_OPEN_H
#define MTRACE_QUERIES_QUERY_OPEN_H

#include "lib/logfile/left_out.h"

struct error;
struct query;
struct query_options;

/* Opens the database of the options, if the command needs one, with today's views and the filters
 * behind them, locked. Close it in any case. */
int query_open(struct query *query, struct error *err);

/* ERROR_LEFT_OUT_ROWS when the database was imported without rows. */
int query_need_rows(const struct query *query, struct error *err);

/* ERROR_LEFT_OUT, with the reason, when blocks are samples. Sums of what samples stand for need none of it: row_scan weighs rows. */
int query_need_every_block(const struct query *query, const char *why, struct error *err);

/* What a database must have to answer, as far as the words say: SQL may need more. */
enum left_out_needs query_needs(const struct query_options *options);

/* Lets the totals that views read be those of what passes the filters of the options. */
int query_install_filters(struct query *query, struct error *err);

#endif
