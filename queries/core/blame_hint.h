/* SPDX-License-Identifier: MIT */
/*
 * blame_hint: --blame-past, offered below a table of call sites if one of the first is in a
 * function that many others call: a wrapper of malloc that no rule knows.
 */
#ifndef MTRACE_QUERIES_BLAME_HINT_H
#define MTRACE_QUERIES_BLAME_HINT_H

#include <stdint.h>

struct error;
struct query;

/* Prints at most one line, about one of the first rows of a view with the columns process_id (0: of
 * any) and call_site_id. Nothing with --blame-past or --site. */
int blame_hint_print(const struct query *query, const char *view, int64_t process_id,
                     struct error *err);

#endif
