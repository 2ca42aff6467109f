/* SPDX-License-Identifier: MIT */
/*
 * judged: the time over which shapes are told, in place of the view _judged, which has what was recorded.
 *
 * Threads: none.
 * Failure: ERROR_DATABASE.
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
    bool is_known; /* of what it is asked for the process has something */
};

/* times: by process_id, n_processes of them, that of 0 means nothing. Once, for a database. */
int in_range_put(struct rundb *database, const struct in_range_time *times, size_t n_processes,
                 struct error *err);

#endif
