/* SPDX-License-Identifier: MIT */
/*
 * id_ranges: time ranges as ranges of allocation ids. Ids are in the order of allocation, so a
 * range is found by bisection and tested by comparisons, whatever the number of rows.
 */
#ifndef MTRACE_QUERIES_ID_RANGES_H
#define MTRACE_QUERIES_ID_RANGES_H

#include <stdint.h>

struct error;
struct rundb;
struct sqlite3_str;

/* The id of the first block allocated at ns or later; past the last id if there is none. */
int id_ranges_first(const struct rundb *database, int64_t ns, int64_t *ret_id, struct error *err);

/* Appends a condition over a.allocation_id and p.process_id: allocated between a marker of this id
 * or name and the next marker of its process. Its depth and cost grow with the logarithm of the
 * number of markers. */
int id_ranges_append_markers(const struct rundb *database, const char *marker,
                             struct sqlite3_str *out, struct error *err);

/* The same: allocated in a phase of this id or name. */
int id_ranges_append_phases(const struct rundb *database, const char *phase,
                            struct sqlite3_str *out, struct error *err);

/* The same: allocated in the window of this id. */
int id_ranges_append_windows(const struct rundb *database, const char *window,
                             struct sqlite3_str *out, struct error *err);

#endif
