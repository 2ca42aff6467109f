/* SPDX-License-Identifier: MIT */
/* bytehound_parts: one request to bytehound's interface, and the functions that answer it. */
#ifndef MTRACE_SERVER_BYTEHOUND_PARTS_H
#define MTRACE_SERVER_BYTEHOUND_PARTS_H

#include "lib/abi/attr.h"
#include "queries/db/rundb.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct exchange;
struct request_place;
struct recording;

struct bytehound;

/* `rest` is the path after the endpoint, "" or "/…". */
typedef int bytehound_answer_fn(struct bytehound *self, const char *rest, struct error *err);

enum bytehound_takes {
    BYTEHOUND_TAKES_NOTHING,
    BYTEHOUND_TAKES_ROWS, /* the filter of allocations, and the wanted rows */
    BYTEHOUND_TAKES_MAPS, /* the same for mappings */
};

struct bytehound_endpoint {
    const char *name;
    bytehound_answer_fn *answer;
    enum bytehound_takes takes;
    const char *const *own; /* further parameters, NULL at the end; NULL: none */
    bool may_go_on;         /* the path may continue, with a file name or an id */
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
    bool is_stripped;      /* strip_template_args: omit template arguments of functions */
};

/* Opens the database with our views and reads its times. Close it also after a failure. */
int bytehound_open(struct bytehound *self, struct error *err);
void bytehound_close(struct bytehound *self);

/* ERROR_USAGE if the database was imported without rows of allocations. */
int bytehound_check_rows(const struct bytehound *self, struct error *err);

/* Reads a yes/no parameter; ERROR_USAGE for other values. */
int bytehound_flag(const struct bytehound *self, const char *name, bool *ret_flag,
                   struct error *err);

/* ---- pieces of JSON ---- */

/* "name":{"secs":…,"fract_nsecs":…} of a time of the database since the epoch, then _relative and
 * _relative_p. */
void bytehound_put_times(const struct bytehound *self, const char *name, int64_t at_ns);

/* Only the first of these, for a time since the epoch or a duration. */
void bytehound_put_timeval(const struct bytehound *self, const char *name, int64_t ns);

/* "name":1,"name_s":"0000000000000001" */
void bytehound_put_address(const struct bytehound *self, const char *name, uint64_t address);

/* {"prologue":"","code":"SELECT …"}: a statement with its values. */
void bytehound_put_sql(const struct bytehound *self, struct sqlite3_stmt *stmt);

/* ---- endpoints ---- */

bytehound_answer_fn bytehound_timeline, bytehound_timeline_leaked, bytehound_timeline_maps,
    bytehound_allocations, bytehound_groups, bytehound_maps, bytehound_backtraces,
    bytehound_backtrace, bytehound_raw_allocations, bytehound_tree, bytehound_regions,
    bytehound_mallopts, bytehound_ascii_tree, bytehound_dynamic_constants,
    bytehound_dynamic_statics, bytehound_filter_to_sql, bytehound_map_filter_to_sql;

int bytehound_put_list_item(struct bytehound *self, struct error *err);

#endif
