/* SPDX-License-Identifier: MIT */
#include "queries/reports/timeline_picture.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/command.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/filter/filter_sql.h"
#include "queries/render/chart.h"
#include "queries/render/stack_text.h"

#include <stdlib.h>
#include <string.h>

static const struct timeline_measure measures[] = {
    {"live", TIME_ROWS_ALL, SITE_CURVES_LIVE, "peak_bytes", "live_blocks"},
    {"allocated", TIME_ROWS_ALL, SITE_CURVES_ALLOCATED, "allocated_bytes", "allocated_blocks"},
    {"freed", TIME_ROWS_ALL, SITE_CURVES_ENDED, "freed_bytes", "freed_blocks"},
    {"leaked", TIME_ROWS_LEAKED, SITE_CURVES_LIVE, "peak_bytes", "live_blocks"},
    {"temporary", TIME_ROWS_TEMPORARY, SITE_CURVES_ALLOCATED, "allocated_bytes",
     "allocated_blocks"},
};

int timeline_measure_of(const struct query *query, const struct timeline_measure **ret,
                        struct error *err)
{
    const char *asked = query->options->measure;

    *ret = &measures[0];
    if (!asked)
        return 0;
    for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
        *ret = &measures[i];
        if (strcmp(asked, measures[i].name) == 0)
            return 0;
    }
    return error_set(err, ERROR_USAGE,
                     "measure '%s': over time it is live, allocated, freed, leaked or temporary",
                     asked);
}

struct timeline_range timeline_range_of(const struct query *query)
{
    const struct filter *asked = &query->options->filter;
    struct timeline_range range = {.asked = asked};

    /* On the page of `report` the range selects allocation times, as for its other parts. */
    if (!query->options->command->is_over_time)
        return (struct timeline_range){.filter = *asked};
    for (size_t i = 0; i < asked->n_values; i++) {
        const char *name = asked->values[i].parameter->name;

        if (strcmp(name, "from") == 0 || strcmp(name, "to") == 0)
            range.is_part = true;
        else
            range.filter.values[range.filter.n_values++] = asked->values[i];
    }
    return range;
}

int timeline_range_resolve(const struct timeline_range *range, const struct filter_sql *sql,
                           int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err)
{
    const struct filter none = {.n_values = 0};

    return filter_sql_range(sql, range->is_part ? range->asked : &none, ret_from_ns, ret_to_ns,
                            err);
}

enum {
    NAME_BYTES = 256,
    TITLE_BYTES = 1024
};

struct picture {
    const struct query *query;
    const struct timeline_measure *measure;
    int64_t process_id, from_ns, to_ns;
    struct site_curves times;
    char names[SITE_CURVES_SERIES][NAME_BYTES];
    int64_t highest[SITE_CURVES_PARTS];
    char title[TITLE_BYTES], subtitle[TITLE_BYTES];
};

int timeline_picture_process(const struct query *query, int64_t *ret_process_id, struct error *err)
{
    *ret_process_id = query->options->process_id;
    return *ret_process_id
               ? 0
               : rundb_get_int64(
                   &query->database,
                   "SELECT process_id FROM processes ORDER BY peak_bytes DESC, process_id LIMIT 1",
                   ret_process_id, err);
}

int timeline_picture_life(const struct query *query, int64_t process_id, int64_t *ret_start_ns,
                          int64_t *ret_end_ns, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc =
        rundb_prepare(&query->database,
                      "SELECT start_ns, end_ns FROM processes WHERE process_id = ?1", &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    rc = rundb_step(&query->database, stmt, err);
    *ret_start_ns = sqlite3_column_int64(stmt, 0);
    *ret_end_ns = sqlite3_column_int64(stmt, 1);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* As far as the process lived. */
static int read_life(struct picture *picture, struct error *err)
{
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int rc = timeline_picture_life(picture->query, picture->process_id, &start_ns, &end_ns, err);

    if (start_ns > picture->from_ns)
        picture->from_ns = start_ns;
    if (end_ns < picture->to_ns)
        picture->to_ns = end_ns;
    if (rc == 0 && picture->from_ns >= picture->to_ns)
        return error_set(err, ERROR_NOT_FOUND, "nothing to draw: process %lld did not live then",
                         (long long)picture->process_id);
    return rc;
}

static int load(struct picture *picture, struct error *err)
{
    const struct query_options *options = picture->query->options;
    const struct timeline_range range = timeline_range_of(picture->query);
    struct site_curves_request request = {.process_id = picture->process_id,
                                          .which = picture->measure->which,
                                          .what = picture->measure->what,
                                          .is_by_blocks = options->is_by_blocks};
    struct filter_sql sql;
    int rc = filter_sql_init(&sql, &picture->query->database, &range.filter, picture->process_id,
                             options->site_id, err);

    if (rc == 0)
        rc = timeline_range_resolve(&range, &sql, &picture->from_ns, &picture->to_ns, err);
    if (rc == 0)
        rc = read_life(picture, err);
    request.filter = &sql;
    request.from_ns = picture->from_ns;
    request.to_ns = picture->to_ns;
    if (rc == 0)
        rc = site_curves_load(&picture->times, &picture->query->database, &request, err);
    filter_sql_done(&sql);
    return rc;
}

/* ---- names ---- */

static int name_series(struct picture *picture, struct error *err)
{
    static const struct where_columns columns = {0, 1, 2, 3};
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        &picture->query->database,
        "SELECT function, source, line, module FROM _sites WHERE call_site_id = ?1", &stmt, err);

    for (size_t i = 0; rc == 0 && i < picture->times.n; i++) {
        const struct site_series *series = &picture->times.series[i];

        sqlite3_bind_int64(stmt, 1, series->site_id);
        if (series->is_rest)
            (void)snprintf(picture->names[i], NAME_BYTES, "%zu other call sites",
                           picture->times.n_others);
        else if ((rc = rundb_step(&picture->query->database, stmt, err)) == 1)
            stack_text_format_place(stmt, &columns, picture->names[i], NAME_BYTES);
        else
            (void)snprintf(picture->names[i], NAME_BYTES, "no call site");
        rc = rc < 0 ? rc : 0;
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- the line above ---- */

static size_t part_of(const struct picture *picture, int64_t at_ns)
{
    double share = ((double)at_ns - (double)picture->from_ns)
                   / ((double)picture->to_ns - (double)picture->from_ns);

    return share <= 0   ? 0
           : share >= 1 ? SITE_CURVES_PARTS - 1
                        : (size_t)(share * SITE_CURVES_PARTS);
}

static void add_bucket(struct picture *picture, struct sqlite3_stmt *row)
{
    int64_t peak = sqlite3_column_int64(row, 2);

    if (sqlite3_column_int64(row, 1) <= picture->from_ns
        || sqlite3_column_int64(row, 0) > picture->to_ns)
        return;
    for (size_t i = part_of(picture, sqlite3_column_int64(row, 0));
         i <= part_of(picture, sqlite3_column_int64(row, 1) - 1); i++)
        picture->highest[i] = peak > picture->highest[i] ? peak : picture->highest[i];
}

static int read_highest(struct picture *picture, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        &picture->query->database,
        "SELECT start_ns, end_ns, peak_bytes FROM timeline WHERE process_id = ?1", &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, picture->process_id);
    while ((rc = rundb_step(&picture->query->database, stmt, err)) == 1)
        add_bucket(picture, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- all of it ---- */

static int make_titles(struct picture *picture, struct error *err)
{
    const bool is_by_blocks = picture->query->options->is_by_blocks;
    char filters[TITLE_BYTES];
    int rc = headline_format(picture->query, picture->process_id, picture->title,
                             sizeof(picture->title), err);

    headline_filters(picture->query, filters, sizeof(filters));
    (void)snprintf(picture->subtitle, TITLE_BYTES, "%s %s over time, by call site%.*s",
                   picture->measure->name, is_by_blocks ? "blocks" : "bytes", TITLE_BYTES / 2,
                   filters);
    return rc;
}

static void draw(const struct picture *picture, bool is_inline)
{
    bool is_live = picture->measure->what == SITE_CURVES_LIVE;
    struct chart chart = {.title = picture->title,
                          .subtitle = picture->subtitle,
                          .form = is_live ? CHART_AREAS : CHART_BARS,
                          .unit =
                              picture->query->options->is_by_blocks ? CHART_BLOCKS : CHART_BYTES,
                          .n_steps = SITE_CURVES_PARTS,
                          .from_ns = picture->from_ns,
                          .to_ns = picture->to_ns,
                          .n_series = picture->times.n,
                          .outline_name = "the highest within each part of the time"};

    if (is_live && !picture->query->options->is_by_blocks)
        chart.outline = picture->highest;
    for (size_t i = 0; i < chart.n_series; i++)
        chart.series[i] = (struct chart_series){picture->names[i], picture->times.series[i].values,
                                                picture->times.series[i].is_rest};
    if (is_inline)
        chart_draw_inline(&chart, picture->query->out);
    else
        chart_draw(&chart, picture->query->out);
}

int timeline_picture_draw(const struct query *query, int64_t process_id, bool is_inline,
                          struct error *err)
{
    struct picture *picture = calloc(1, sizeof(*picture));
    int rc = picture ? 0 : error_set(err, ERROR_NOMEM, "no memory for a picture");

    if (rc == 0) {
        picture->query = query;
        picture->process_id = process_id;
        rc = timeline_measure_of(query, &picture->measure, err);
    }
    if (rc == 0)
        rc = load(picture, err);
    if (rc == 0)
        rc = name_series(picture, err);
    if (rc == 0)
        rc = read_highest(picture, err);
    if (rc == 0)
        rc = make_titles(picture, err);
    if (rc == 0 && picture->times.n == 0)
        rc = error_set(err, ERROR_NOT_FOUND, "nothing to draw: no block passes");
    if (rc == 0)
        draw(picture, is_inline);
    free(picture);
    return rc;
}
