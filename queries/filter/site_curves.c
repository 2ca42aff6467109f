/* SPDX-License-Identifier: MIT */
#include "queries/filter/site_curves.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_sums.h"

#include <stdlib.h>
#include <string.h>

struct scan {
    const struct site_curves_request *request;
    const uint32_t *site_of; /* as in row_feed */
    struct hash_map changes; /* by process, call site and part */
};

/* Before the range: part 0 for live memory, else none, as after the range. */
static uint32_t part_of(const struct site_curves_request *request, int64_t at_ns)
{
    double width = ((double)request->to_ns - (double)request->from_ns) / SITE_CURVES_PARTS;
    double part = ((double)at_ns - (double)request->from_ns) / width;

    if (part < 0)
        return request->what == SITE_CURVES_LIVE ? 0 : SITE_CURVES_PARTS;
    if (part >= SITE_CURVES_PARTS) /* the last time belongs to the last part */
        return at_ns == request->to_ns ? SITE_CURVES_PARTS - 1 : SITE_CURVES_PARTS;
    return (uint32_t)part;
}

static bool change(struct scan *scan, const struct scanned_row *row, int64_t at_ns, int sign)
{
    uint32_t part = part_of(scan->request, at_ns);

    return part >= SITE_CURVES_PARTS
           || row_sums_add_pair(&scan->changes, row, scan->site_of[row->backtrace], part, sign);
}

static bool take_row(struct scan *scan, const struct scanned_row *row)
{
    const struct site_curves_request *request = scan->request;
    bool has_ended = row->lifetime_ns != ROW_FEED_UNKNOWN;
    int64_t end_ns = has_ended ? saturating_add(row->alloc_ns, row->lifetime_ns) : INT64_MAX;

    if (row->process != request->process_id || !time_rows_counts(request->which, row))
        return true;
    if (request->what == SITE_CURVES_ENDED)
        return !has_ended || change(scan, row, end_ns, 1);
    if (!change(scan, row, row->alloc_ns, 1))
        return false;
    return request->what == SITE_CURVES_ALLOCATED || !has_ended || change(scan, row, end_ns, -1);
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!take_row(context, &rows[i]))
            return false;
    }
    return true;
}

/* ---- series ---- */

static void add_values(struct site_series *to, const struct site_series *from)
{
    for (size_t i = 0; i < SITE_CURVES_PARTS; i++)
        saturating_grow(&to->values[i], from->values[i]);
    to->sum += from->sum;
}

/* The list is sorted; a call site that drops out joins the others. */
static void put_series(struct site_curves *times, const struct site_series *series)
{
    const size_t most = SITE_CURVES_SERIES - 1;
    struct site_series *rest = &times->series[most];
    size_t at = times->n;

    while (at > 0 && times->series[at - 1].sum < series->sum)
        at--;
    if (at == most || times->n == most) {
        add_values(rest, at == most ? series : &times->series[most - 1]);
        times->n_others++;
        if (at == most)
            return;
        times->n--;
    }
    memmove(&times->series[at + 1], &times->series[at], (times->n - at) * sizeof(*series));
    times->series[at] = *series;
    times->n++;
}

/* The changes of one call site, in order of the parts. */
static void make_series(const struct site_curves_request *request,
                        const struct pair_totals_entry *changes, size_t n,
                        struct site_series *series)
{
    int64_t live = 0;
    size_t change = 0;

    *series = (struct site_series){.site_id = changes[0].from};
    for (uint32_t part = 0; part < SITE_CURVES_PARTS; part++) {
        live = request->what == SITE_CURVES_LIVE ? live : 0;
        for (; change < n && changes[change].to == part; change++)
            saturating_grow(&live, (int64_t)(request->is_by_blocks ? changes[change].blocks
                                                                   : changes[change].bytes));
        series->values[part] = live > 0 ? live : 0;
        series->sum += (double)series->values[part];
    }
}

static void collect(struct scan *scan, struct site_curves *times, struct site_series *room)
{
    const struct pair_totals_entry *list = scan->changes.elements;
    size_t n;

    pair_totals_sort(&scan->changes);
    for (size_t i = 0; i < scan->changes.n; i += n) {
        n = 1;
        while (i + n < scan->changes.n && list[i + n].from == list[i].from)
            n++;
        make_series(scan->request, &list[i], n, room);
        if (room->sum > 0)
            put_series(times, room);
    }
    if (times->n_others > 0)
        times->series[times->n++] = times->series[SITE_CURVES_SERIES - 1];
    if (times->n_others > 0)
        times->series[times->n - 1].is_rest = true;
}

int site_curves_load(struct site_curves *times, const struct rundb *database,
                     const struct site_curves_request *request, struct error *err)
{
    struct site_series *room = calloc(1, sizeof(*room));
    struct scan scan = {.request = request};
    struct row_feed rows;
    int rc = row_feed_init(&rows, database, err);

    memset(times, 0, sizeof(*times));
    if (rc == 0 && !room)
        rc = error_set(err, ERROR_NOMEM, "no memory for curves of call sites");
    if (rc == 0)
        rc = row_feed_read_sites(&rows, err);
    rows.without = time_rows_without(request->which);
    scan.site_of = rows.site_of;
    if (rc == 0)
        rc = row_feed_run(&rows, request->filter, take, &scan, err);
    if (rc == 0)
        collect(&scan, times, room);
    row_feed_done(&rows);
    hash_map_done(&scan.changes);
    free(room);
    return rc;
}
