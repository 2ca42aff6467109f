/* SPDX-License-Identifier: MIT */
#include "queries/export/export_events.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/export/export_job.h"
#include "queries/filter/filter_sql.h"

#include <stdlib.h>

enum row_column {
    ALLOC_NS,
    LIFETIME_NS,
    SIZE_BYTES,
    SLACK_BYTES,
    BACKTRACE_ID,
    ENDED_BY,
};

enum {
    NEVER = -1,
    ENDED_BY_EXEC = 4
};

static const char row_columns[] =
    "a.alloc_ns, a.lifetime_ns, a.size_bytes, a.slack_bytes, a.backtrace_id, a.ended_by";

/* ---- pending frees ---- */

static bool is_earlier(const struct export_free_event *a, const struct export_free_event *b)
{
    if (a->free_ns != b->free_ns)
        return a->free_ns < b->free_ns;
    if (a->allocation.alloc_ns != b->allocation.alloc_ns)
        return a->allocation.alloc_ns < b->allocation.alloc_ns;
    return a->allocation.backtrace_id < b->allocation.backtrace_id;
}

static int push(struct export_events *events, const struct export_free_event *free_event,
                struct error *err)
{
    size_t at = events->n;
    struct export_free_event *queue =
        dynamic_array_reserve(events->queue, &events->capacity, events->n + 1, sizeof(*queue));

    if (!queue)
        return error_set(err, ERROR_NOMEM, "no memory for %zu live blocks", events->n + 1);
    events->queue = queue;
    events->n++;
    while (at > 0 && is_earlier(free_event, &queue[(at - 1) / 2])) {
        queue[at] = queue[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue[at] = *free_event;
    return 0;
}

static struct export_free_event pop(struct export_events *events)
{
    struct export_free_event first = events->queue[0];
    struct export_free_event last = events->queue[--events->n];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= events->n)
            break;
        if (child + 1 < events->n && is_earlier(&events->queue[child + 1], &events->queue[child]))
            child++;
        if (!is_earlier(&events->queue[child], &last))
            break;
        events->queue[at] = events->queue[child];
        at = child;
    }
    if (events->n > 0)
        events->queue[at] = last;
    return first;
}

/* ---- allocations ---- */

static int prepare(struct export_events *events, struct error *err)
{
    const struct query *query = events->job->query;
    struct filter_sql filter;
    char *sql = NULL;
    int rc = filter_sql_init(&filter, &query->database, &query->options->filter,
                             events->job->process_id, query->options->site_id, err);

    if (rc == 0) {
        sql = filter_sql_rows_by_id(&filter, row_columns);
        rc = sql ? rundb_prepare(&query->database, sql, &events->stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory");
    }
    if (rc == 0)
        filter_sql_bind(&filter, events->stmt);
    sqlite3_free(sql);
    filter_sql_done(&filter);
    return rc;
}

/* Blocks live at an exec are lost, not leaked, and end with the process. */
static int64_t free_event_of(const struct export_events *events, struct sqlite3_stmt *row,
                             int64_t alloc_ns)
{
    if (sqlite3_column_type(row, LIFETIME_NS) != SQLITE_NULL)
        return saturating_add(alloc_ns, sqlite3_column_int64(row, LIFETIME_NS));
    return sqlite3_column_int64(row, ENDED_BY) == ENDED_BY_EXEC ? events->job->end_ns : NEVER;
}

/* Reads the next allocation ahead. */
static int read_allocation(struct export_events *events, struct error *err)
{
    struct sqlite3_stmt *row = events->stmt;
    int rc = rundb_step(&events->job->query->database, row, err);

    events->has_next = rc == 1;
    if (rc != 1)
        return rc;
    events->next.allocation = (struct export_event){
        .at_ns = sqlite3_column_int64(row, ALLOC_NS),
        .alloc_ns = sqlite3_column_int64(row, ALLOC_NS),
        .size_bytes = sqlite3_column_int64(row, SIZE_BYTES),
        .slack_bytes = sqlite3_column_int64(row, SLACK_BYTES),
        .backtrace_id = sqlite3_column_int64(row, BACKTRACE_ID),
        .is_allocation = true,
    };
    events->next.free_ns = free_event_of(events, row, events->next.allocation.alloc_ns);
    return 0;
}

int export_events_open(struct export_events *events, const struct export_job *job,
                       struct error *err)
{
    int rc;

    *events = (struct export_events){.job = job};
    rc = prepare(events, err);
    if (rc != 0 || query_show_sql(job->query, events->stmt))
        return rc;
    return read_allocation(events, err);
}

void export_events_close(struct export_events *events)
{
    sqlite3_finalize(events->stmt);
    free(events->queue);
}

int export_events_next(struct export_events *events, struct export_event *ret_event,
                       struct error *err)
{
    int rc = 0;

    if (events->n > 0
        && (!events->has_next || events->queue[0].free_ns <= events->next.allocation.at_ns)) {
        struct export_free_event free_event = pop(events);
        *ret_event = free_event.allocation;
        ret_event->at_ns = free_event.free_ns;
        ret_event->is_allocation = false;
        return 1;
    }
    if (!events->has_next)
        return 0;
    *ret_event = events->next.allocation;
    if (events->next.free_ns != NEVER)
        rc = push(events, &events->next, err);
    if (rc == 0)
        rc = read_allocation(events, err);
    return rc == 0 ? 1 : rc;
}

int export_events_find_peak(const struct export_job *job, struct export_peak *ret_peak,
                            struct error *err)
{
    struct export_events events;
    struct export_event event;
    int64_t bytes = 0;
    int64_t blocks = 0;
    int rc = export_events_open(&events, job, err);

    *ret_peak = (struct export_peak){.at_ns = job->peak_ns};
    while (rc == 0 && (rc = export_events_next(&events, &event, err)) == 1) {
        saturating_grow(&bytes, event.is_allocation ? event.size_bytes
                                                    : saturating_subtract(0, event.size_bytes));
        blocks += event.is_allocation ? 1 : -1;
        ret_peak->n_events++;
        if (event.at_ns <= job->peak_ns) {
            ret_peak->bytes = bytes;
            ret_peak->blocks = blocks;
            ret_peak->event = ret_peak->n_events;
        }
        rc = 0;
    }
    export_events_close(&events);
    return rc;
}
