/* SPDX-License-Identifier: MIT */
/*
 * process_ranking: reports with one screen per process, when there are many processes.
 *
 * Up to PROCESS_RANKING_SCREENS processes have a screen each. If there are more, totals and a
 * ranking come first, then the screens of the first processes in it. --process shows any other.
 */
#ifndef MTRACE_QUERIES_PROCESS_RANKING_H
#define MTRACE_QUERIES_PROCESS_RANKING_H

#include <stdint.h>

struct error;
struct query;

enum {
    PROCESS_RANKING_SCREENS = 3
};

/* "(SELECT …)": a row for each process with what it leaked and its peak. */
extern const char process_ranking_source[];

/* Calls `print` for the selected processes until it fails. by: the column of the source that ranks
 * them. */
int process_ranking_each(struct query *query, const char *by,
                         int (*print)(struct query *, int64_t process_id, struct error *),
                         struct error *err);

#endif
