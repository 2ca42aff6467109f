/* SPDX-License-Identifier: MIT */
/* bytehound_parts: one request to bytehound's interface, and the functions that answer it. */
#ifndef MTRACE_SERVER_BYTEHOUND_PARTS_H
#define MTRACE_SERVER_BYTEHOUND_PARTS_H

#include "queries/db/rundb.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct bytehound;
struct error;
struct exchange;
struct exchange_parameter;
struct recording;
struct request_place;

typedef int bytehound_answer_fn(struct bytehound *self, struct error *err);

struct bytehound_endpoint {
    const char *name;
    bytehound_answer_fn *answer;            /* NULL: `command` answers */
    const char *command;                    /* of mtrace-query, which gets the filter */
    const struct exchange_parameter *fixed; /* its other parameters, NULL at the end */
    const char *content_type;               /* NULL: JSON */
    bool takes_filter;
    bool may_go_on; /* the path may continue with a file name */
};

struct bytehound {
    const struct request_place *place;
    const struct recording *recording;
    const struct bytehound_endpoint *endpoint; /* NULL: an item of the list */
    struct exchange *exchange;
    FILE *out;
    struct rundb database;
    struct database_stop stop;
    int64_t start_unix_ns; /* Unix time of time 0 of the database */
    int64_t end_ns;        /* last known time */
};

/* ERROR_USAGE if the database was imported without rows of allocations. */
int bytehound_check_rows(const struct bytehound *self, struct error *err);

bytehound_answer_fn bytehound_list_item, bytehound_allocations, bytehound_groups, bytehound_mmaps,
    bytehound_mallopts, bytehound_timeline, bytehound_timeline_leaked, bytehound_timeline_maps;

#endif
