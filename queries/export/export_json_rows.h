/* SPDX-License-Identifier: MIT */
/*
 * export_json_rows: the allocations that pass the filters, an object each, as the view
 * `allocations` shows them.
 *
 * Model: the view asks for the names, the chain and the marker of each row by itself, which takes
 *        several times as long as the row. Here what rows have in common is read once, links of
 *        chains and markers go along in order, and numbers are written without formats.
 * Invariants: JR-1 members, their order and their values are those of the view. JR-2 memory grows
 *        with threads and processes alone.
 */
#ifndef MTRACE_QUERIES_EXPORT_JSON_ROWS_H
#define MTRACE_QUERIES_EXPORT_JSON_ROWS_H

#include <stdio.h>

struct error;
struct export_job;

/* The array, with its brackets. */
int export_json_rows_put(const struct export_job *job, FILE *out, struct error *err);

#endif
