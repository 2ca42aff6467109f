/* SPDX-License-Identifier: MIT */
/*
 * in_range: replaces the view _judged, the analysis range: the time over which patterns are
 * computed. The view has the time that was recorded. Errors: ERROR_DATABASE.
 */
#ifndef MTRACE_QUERIES_IN_RANGE_H
#define MTRACE_QUERIES_IN_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct rundb;

struct in_range_time {
    int64_t start_ns, end_ns;
    bool is_known; /* the process has data for the query */
};

/* times: by process_id, n_processes of them; index 0 is unused. Call it once per database. */
int in_range_put(struct rundb *database, const struct in_range_time *times, size_t n_processes,
                 struct error *err);

#endif
