/* SPDX-License-Identifier: MIT */
#include "queries/reports/cmd_histogram.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/totals/report_classes.h"
#include "queries/core/command.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/core/tree_title.h"
#include "queries/render/chart.h"
#include "queries/render/svg.h"
#include "queries/reports/reports.h"

#include <stdlib.h>
#include <string.h>

enum {
    N_SERIES = 3,
    LABEL_BYTES = 2 * UNITS_TEXT_BYTES + 8,
    TITLE_BYTES = 512
};

/* from, to, and blocks of each series; NULL: no class, the blocks that never ended. */
static const char sizes_sql[] =
    "SELECT from_bytes, to_bytes, sum(leaked_blocks), sum(temporary_blocks),"
    " sum(blocks - leaked_blocks - temporary_blocks) FROM size_histogram"
    " WHERE :process IN (0, process_id) GROUP BY from_bytes ORDER BY from_bytes";
static const char lifetimes_sql[] =
    "SELECT from_ns, to_ns, sum(iif(leaked, blocks, 0)), 0, sum(iif(leaked, 0, blocks)) FROM lifetime_histogram"
    " WHERE :process IN (0, process_id) GROUP BY leaked, from_ns ORDER BY leaked, from_ns";

struct classes {
    const struct query *query;
    bool is_of_sizes;
    char (*labels)[LABEL_BYTES];
    const char **shown; /* the labels */
    int64_t *values[N_SERIES];
    size_t n, labels_capacity, values_capacity[N_SERIES];
};

static void format_label(const struct classes *classes, struct sqlite3_stmt *row, char *label)
{
    char from[UNITS_TEXT_BYTES];

    if (sqlite3_column_type(row, 0) == SQLITE_NULL)
        (void)snprintf(label, LABEL_BYTES, "never ended");
    else if (classes->is_of_sizes)
        (void)snprintf(label, LABEL_BYTES, "%s",
                       units_format_bytes(sqlite3_column_int64(row, 1), from));
    else
        (void)snprintf(label, LABEL_BYTES, "%s",
                       units_format_duration(sqlite3_column_int64(row, 0), from));
}

/* NULL row: no blocks; the caller sets the label. */
static int add_class(struct classes *classes, struct sqlite3_stmt *row, struct error *err)
{
    void *labels = dynamic_array_reserve(classes->labels, &classes->labels_capacity, classes->n + 1,
                                         sizeof(*classes->labels));

    if (!labels)
        return error_set(err, ERROR_NOMEM, "no memory for %zu classes", classes->n);
    classes->labels = labels;
    for (size_t i = 0; i < N_SERIES; i++) {
        int64_t *values = dynamic_array_reserve(classes->values[i], &classes->values_capacity[i],
                                                classes->n + 1, sizeof(*values));
        if (!values)
            return error_set(err, ERROR_NOMEM, "no memory for %zu classes", classes->n);
        classes->values[i] = values;
        values[classes->n] = row ? sqlite3_column_int64(row, (int)i + 2) : 0;
    }
    if (row)
        format_label(classes, row, classes->labels[classes->n]);
    classes->n++;
    return 0;
}

/* The upper bound of the class that begins here: 100 ns, 200, 500, 1000, … */
static int64_t next_bound(int64_t bound_ns)
{
    uint64_t from;
    uint64_t to;

    lifetime_class_bounds(lifetime_class_of(bound_ns < 0 ? 0 : (uint64_t)bound_ns), &from, &to);
    return (int64_t)to;
}

/* A class without blocks has no row, but is a step of the scale. */
static int add_empty_lifetimes(struct classes *classes, int64_t from_ns, int64_t to_ns,
                               struct error *err)
{
    char text[UNITS_TEXT_BYTES];
    int rc = 0;

    for (; rc == 0 && from_ns < to_ns; from_ns = next_bound(from_ns)) {
        rc = add_class(classes, NULL, err);
        if (rc == 0)
            (void)snprintf(classes->labels[classes->n - 1], LABEL_BYTES, "%s",
                           units_format_duration(from_ns, text));
    }
    return rc;
}

static int load(struct classes *classes, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int64_t end_ns = INT64_MAX; /* of the previous class */
    int rc = rundb_prepare(&classes->query->database,
                           classes->is_of_sizes ? sizes_sql : lifetimes_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, classes->query->options->process_id);
    while ((rc = rundb_step(&classes->query->database, stmt, err)) == 1) {
        if (!classes->is_of_sizes && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
            rc = add_empty_lifetimes(classes, end_ns, sqlite3_column_int64(stmt, 0), err);
        if (rc >= 0)
            rc = add_class(classes, stmt, err);
        if (rc != 0)
            break;
        end_ns = sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && classes->n == 0)
        return error_set(err, ERROR_NOT_FOUND, "nothing to draw: no block was allocated");
    classes->shown = rc == 0 ? calloc(classes->n, sizeof(*classes->shown)) : NULL;
    for (size_t i = 0; classes->shown && i < classes->n; i++)
        classes->shown[i] = classes->labels[i];
    return rc == 0 && !classes->shown ? error_set(err, ERROR_NOMEM, "no memory for labels") : rc;
}

static bool has_any(const struct classes *classes, size_t series)
{
    for (size_t i = 0; i < classes->n; i++) {
        if (classes->values[series][i] > 0)
            return true;
    }
    return false;
}

static void draw(const struct classes *classes, const char *title, bool is_inline)
{
    static const char *const names[2][N_SERIES] = {{"never ended", "", "ended after so long"},
                                                   {"leaked", "temporary", "others"}};
    struct chart chart = {.title = title,
                          .subtitle =
                              classes->is_of_sizes
                                  ? "blocks by requested size, at most what stands below"
                                  : "blocks by how long they lived, at least what stands below",
                          .form = CHART_BARS,
                          .unit = CHART_BLOCKS,
                          .n_steps = classes->n,
                          .labels = classes->shown};

    for (size_t i = 0; i < N_SERIES; i++) {
        if (has_any(classes, i))
            chart.series[chart.n_series++] =
                (struct chart_series){names[classes->is_of_sizes][i], classes->values[i], false};
    }
    if (is_inline)
        chart_draw_inline(&chart, classes->query->out);
    else
        chart_draw(&chart, classes->query->out);
}

int cmd_histogram_draw(const struct query *query, bool is_of_sizes, bool is_inline,
                       struct error *err)
{
    struct classes classes = {.query = query, .is_of_sizes = is_of_sizes};
    char title[TITLE_BYTES];
    int rc = tree_title_processes(query, title, sizeof(title), err);

    headline_filters(query, title + strlen(title), sizeof(title) - strlen(title));
    if (rc == 0)
        rc = load(&classes, err);
    if (rc == 0)
        draw(&classes, title, is_inline);
    for (size_t i = 0; i < N_SERIES; i++)
        free(classes.values[i]);
    free(classes.labels);
    free(classes.shown);
    return rc;
}

int cmd_histogram_run(struct query *query, struct error *err)
{
    bool is_of_sizes = strcmp(query->options->command->view, "size_histogram") == 0;
    int rc;

    if (!query_is_picture(query->output_name))
        return report_run(query, err);
    rc = svg_check_output(&query->style, err);
    return rc == 0 ? cmd_histogram_draw(query, is_of_sizes, false, err) : rc;
}
