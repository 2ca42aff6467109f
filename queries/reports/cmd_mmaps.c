/* SPDX-License-Identifier: MIT */
/*
 * mmaps: mappings of address space. Filters of allocations apply where they make sense for a
 * mapping: size, time of creation, lifetime, existence at a time, stack. As a picture: mapped and
 * resident memory over time.
 */
#include "lib/base/error.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/filter/filter_sql.h"
#include "queries/render/chart.h"
#include "queries/render/svg.h"
#include "queries/reports/reports.h"
#include "queries/reports/timeline_picture.h"

#include <string.h>

/* ---- rows ---- */

/* Filters of rows as conditions of mappings. */
static const struct condition {
    const char *name;
    const char *sql;
} conditions[] = {
    {"size_min", "m.length_bytes >= %lld"},
    {"size_max", "m.length_bytes <= %lld"},
    {"from", "m.mapped_ns >= %lld"},
    {"to", "m.mapped_ns <= %lld"},
    {"lifetime_min", "m.lifetime_ns >= %lld"},
    {"lifetime_max", "m.lifetime_ns <= %lld"},
    {"alive_at", "m.seen_ns <= %lld AND ifnull(m.unmapped_ns > %lld, 1)"},
};

static const struct condition *condition_of(const struct filter_value *value)
{
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        if (strcmp(conditions[i].name, value->parameter->name) == 0)
            return &conditions[i];
    }
    return NULL;
}

static bool is_of_stacks(const struct filter_value *value)
{
    return filter_value_scope(value) == FILTER_SCOPE_STACK;
}

/* One of the values of a parameter must hold. */
static void append_value(const struct filter_sql *resolved, const struct filter_value *value,
                         bool is_first, struct sqlite3_str *sql)
{
    const struct condition *condition = condition_of(value);
    int64_t number = filter_sql_resolve(resolved, value);

    sqlite3_str_appendall(sql, is_first ? " AND ((" : " OR (");
    sqlite3_str_appendf(sql, condition->sql, (long long)number, (long long)number);
    sqlite3_str_appendall(sql, ")");
}

static void append_rows(const struct filter_sql *resolved, const struct filter *filter,
                        struct sqlite3_str *sql)
{
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        bool is_first = true;

        for (size_t v = 0; v < filter->n_values; v++) {
            if (condition_of(&filter->values[v]) != &conditions[i])
                continue;
            append_value(resolved, &filter->values[v], is_first, sql);
            is_first = false;
        }
        if (!is_first)
            sqlite3_str_appendall(sql, ")");
    }
}

static void append_protection(const char *protection, struct sqlite3_str *sql)
{
    int bits = (strchr(protection, 'r') ? 1 : 0) | (strchr(protection, 'w') ? 2 : 0)
               | (strchr(protection, 'x') ? 4 : 0);

    if (bits == 0 || strcmp(protection, "none") == 0)
        sqlite3_str_appendall(sql, " AND m.prot & 7 = 0");
    else
        sqlite3_str_appendf(sql, " AND m.prot & %d = %d", bits, bits);
}

static char *make_source(const struct query *query, const struct filter_sql *sql)
{
    const struct query_options *options = query->options;
    struct sqlite3_str *source = sqlite3_str_new(query->database.handle);
    char *stacks = filter_sql_stacks(sql, "m.backtrace_id");

    sqlite3_str_appendf(source, "(SELECT m.* FROM mappings AS m WHERE 1%s", stacks ? stacks : "");
    append_rows(sql, &options->filter, source);
    if (options->protection)
        append_protection(options->protection, source);
    if (options->peak_rss_min > 0)
        sqlite3_str_appendf(source, " AND m.peak_rss_bytes >= %lld",
                            (long long)options->peak_rss_min);
    sqlite3_str_appendall(source, ")");
    sqlite3_free(stacks);
    return sqlite3_str_finish(source);
}

/* Compiles filters of stacks; the others are checked here. */
static int split_filters(const struct query *query, struct filter *ret_stacks, struct error *err)
{
    const struct filter *filter = &query->options->filter;

    ret_stacks->n_values = 0;
    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];

        if (is_of_stacks(value))
            ret_stacks->values[ret_stacks->n_values++] = *value;
        else if (!condition_of(value))
            return error_set(
                err, ERROR_USAGE,
                "%s applies to allocations; mmaps takes size, from, to, lifetime in numbers, "
                "alive_at, protection, peak_rss_min and filters of stacks",
                value->parameter->name);
    }
    return 0;
}

static int show_rows(struct query *query, struct error *err)
{
    struct filter stacks;
    struct filter_sql sql;
    char *source = NULL;
    int rc = split_filters(query, &stacks, err);

    if (rc != 0)
        return rc;
    rc = filter_sql_init(&sql, &query->database, &stacks, query->options->process_id, 0, err);
    if (rc == 0) {
        source = make_source(query, &sql);
        rc = source ? report_show_filtered(query, source, &sql, err)
                    : error_set(err, ERROR_NOMEM, "no memory for a statement");
    }
    sqlite3_free(source);
    filter_sql_done(&sql);
    return rc;
}

/* ---- picture ---- */

enum {
    N_STEPS = 400,
    N_KINDS = 4,
    TITLE_BYTES = 1024
};

static const char *const kinds[N_KINDS] = {"mapping", "library", "stack", "heap"};
static const char *const kind_names[N_KINDS] = {
    "mapped by the program", "libraries, since their code ran, from first to last byte",
    "stacks of threads", "heaps, as far as they reached"};

struct levels {
    const struct query *query;
    int64_t process_id, start_ns, end_ns;
    int64_t values[N_KINDS][N_STEPS]; /* at the end of each step */
    int64_t rss[N_STEPS];
};

static size_t step_of(const struct levels *levels, int64_t at_ns)
{
    double share = ((double)at_ns - (double)levels->start_ns)
                   / ((double)levels->end_ns - (double)levels->start_ns + 1);

    return share <= 0 ? 0 : share >= 1 ? N_STEPS - 1 : (size_t)(share * N_STEPS);
}

/* A value holds until the next one. */
static void set_level(const struct levels *levels, int64_t *values, struct sqlite3_stmt *row)
{
    for (size_t i = step_of(levels, sqlite3_column_int64(row, 0)); i < N_STEPS; i++)
        values[i] = sqlite3_column_int64(row, 1) > 0 ? sqlite3_column_int64(row, 1) : 0;
}

static int read_levels(struct levels *levels, const char *sql, const char *kind, int64_t *values,
                       struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&levels->query->database, sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, levels->process_id);
    if (kind)
        sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_STATIC);
    while ((rc = rundb_step(&levels->query->database, stmt, err)) == 1)
        set_level(levels, values, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

static int draw_levels(const struct levels *levels, struct error *err)
{
    char title[TITLE_BYTES];
    struct chart chart = {
        .title = title,
        .subtitle =
            "address space over time, without large blocks to which malloc gives mappings of their own",
        .form = CHART_AREAS,
        .unit = CHART_BYTES,
        .n_steps = N_STEPS,
        .n_series = N_KINDS,
        .from_ns = levels->start_ns,
        .to_ns = levels->end_ns,
        .outline = levels->rss,
        .outline_name = "resident, as it was sampled"};
    int rc = headline_format(levels->query, levels->process_id, title, sizeof(title), err);

    for (size_t i = 0; i < N_KINDS; i++)
        chart.series[i] = (struct chart_series){kind_names[i], levels->values[i], false};
    if (rc == 0)
        chart_draw(&chart, levels->query->out);
    return rc;
}

static int draw(struct query *query, struct error *err)
{
    struct levels levels = {.query = query};
    int rc = svg_check_output(&query->style, err);

    if (rc == 0
        && (query->options->filter.n_values > 0 || query->options->protection
            || query->options->peak_rss_min))
        rc = error_set(err, ERROR_USAGE,
                       "the picture is of all mappings of a process: it takes no filters");
    if (rc == 0)
        rc = timeline_picture_process(query, &levels.process_id, err);
    if (rc == 0)
        rc = timeline_picture_life(query, levels.process_id, &levels.start_ns, &levels.end_ns, err);
    for (size_t i = 0; rc == 0 && i < N_KINDS; i++)
        rc = read_levels(
            &levels,
            "SELECT at_ns, mapped_bytes FROM mapping_levels WHERE process_id = ?1 AND what = ?2 ORDER BY at_ns",
            kinds[i], levels.values[i], err);
    if (rc == 0)
        rc = read_levels(
            &levels,
            "SELECT at_ns, rss_bytes FROM memory_samples WHERE process_id = ?1 ORDER BY at_ns",
            NULL, levels.rss, err);
    return rc == 0 ? draw_levels(&levels, err) : rc;
}

int cmd_mmaps_run(struct query *query, struct error *err)
{
    return query_is_picture(query->output_name) ? draw(query, err) : show_rows(query, err);
}
