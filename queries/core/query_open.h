/* SPDX-License-Identifier: MIT */
/*
 * query_open: what happens before and after the run function of a command.
 *
 * Opening checks that the database can answer the command, and installs filters and suppressions.
 * Commands include query.h only.
 */
#ifndef MTRACE_QUERIES_QUERY_OPEN_H
#define MTRACE_QUERIES_QUERY_OPEN_H

struct error;
struct query;
struct query_options;

/* Opens and locks the database, if the command needs one, with the current views and the filters.
 * Close it also after a failure. */
int query_open(struct query *query, struct error *err);

/* ERROR_LEFT_OUT_ROWS if the database was imported without rows. */
int query_need_rows(const struct query *query, struct error *err);

/* ERROR_LEFT_OUT with the reason if blocks are samples. Sums of estimates do not need this check:
 * row_feed applies the weights. */
int query_need_every_block(const struct query *query, const char *why, struct error *err);

/* Replaces the totals behind the views by those of the rows that pass the filters. */
int query_install_filters(struct query *query, struct error *err);

#endif
