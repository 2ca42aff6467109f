/* SPDX-License-Identifier: MIT */
/*
 * export_json_rows: the allocations that pass the filters, one JSON object each, as in the view
 * `allocations`.
 *
 * The view looks up names, chain and marker for each row, which takes several times as long as
 * reading the row. Here common data is read once, chain links and markers are read in step with the
 * rows, and numbers are written without printf.
 *
 * Invariants
 *   JR-1 Members, their order and their values are those of the view.
 *   JR-2 Memory grows with threads and processes only.
 */
#ifndef MTRACE_QUERIES_EXPORT_JSON_ROWS_H
#define MTRACE_QUERIES_EXPORT_JSON_ROWS_H

#include <stdio.h>

struct error;
struct export_job;

/* Writes the array with its brackets. */
int export_json_rows_put(const struct export_job *job, FILE *out, struct error *err);

#endif
