/* SPDX-License-Identifier: MIT */
/*
 * heap_tables: the heaps at a time other than the peak and the end.
 *
 * TEMP tables with the names of those in the file (snapshots, heap_states, heap_pages, heap_pins)
 * are filled by one heap_scan, so all views over heaps answer for that time. They have one snapshot
 * per process; its reason is the value of --at.
 */
#ifndef MTRACE_QUERIES_HEAP_TABLES_H
#define MTRACE_QUERIES_HEAP_TABLES_H

#include "queries/filter/filter_sql.h"
#include "queries/heap/heap_scan.h"

struct error;
struct query;

/* Compiles a value of alive_at. Call filter_sql_done for ret_filter also after a failure; it must
 * outlive ret_instant. */
int heap_tables_compile(const struct query *query, const struct filter_value *value,
                        struct filter_sql *ret_filter, struct heap_scan_instant *ret_instant,
                        struct error *err);

/* The install function (command.h) of commands about heaps: installs the tables if --at is given,
 * and the other filters. */
int heap_tables_install(struct query *query, struct error *err);

#endif
