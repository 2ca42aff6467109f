/* SPDX-License-Identifier: MIT */
/*
 * heap_tables: the heaps at another instant than the peak and the end.
 *
 * Model: TEMP tables named as those of the file (snapshots, heap_states, heap_pages, heap_pins)
 *        take their place, filled by one heap_scan, so that every view over heaps answers for the
 *        instant. Their one snapshot per process has what was asked for as its reason.
 */
#ifndef MTRACE_QUERIES_HEAP_TABLES_H
#define MTRACE_QUERIES_HEAP_TABLES_H

#include "queries/filter/filter_sql.h"
#include "queries/heap/heap_scan.h"

struct error;
struct query;

/* Compiles the instant of a value of alive_at. ret_filter: call filter_sql_done in any case; it
 * must outlive the instant. */
int heap_tables_compile(const struct query *query, const struct filter_value *value,
                        struct filter_sql *ret_filter, struct heap_scan_instant *ret_instant,
                        struct error *err);

/* The install function (command.h) of commands about heaps: puts the tables in place when --at asks for it, and the other
 * filters behind the totals. */
int heap_tables_install(struct query *query, struct error *err);

#endif
