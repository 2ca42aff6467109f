/* SPDX-License-Identifier: MIT */
/*
 * timeline: memory over time. People get a chart per process: a column is as high as the maximum of
 * memory in its time, or, for --measure allocated, freed and temporary, as the largest part of it.
 * --wide, sorting and other formats print the rows. An output name ending in .svg gives a picture
 * by call site. With filters the rows are computed again (time_rows.h). --from and --to are the
 * time axis.
 */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/query_open.h"
#include "queries/core/report.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/time_rows.h"
#include "queries/render/estimate.h"
#include "queries/render/svg.h"
#include "queries/reports/process_ranking.h"
#include "queries/reports/reports.h"
#include "queries/reports/timeline_picture.h"

#include <langinfo.h>
#include <string.h>

enum {
    CHART_HEIGHT = 12,
    LABEL_WIDTH = 10,
    MIN_COLUMNS = 20,
    MAX_COLUMNS = 200,
    DEFAULT_WIDTH = 80,
    EIGHTHS = 8
};

struct screen {
    const struct timeline_measure *measure;
    bool is_by_blocks;
    int64_t start_ns, end_ns;
    int64_t peak_bytes[MAX_COLUMNS];
    int64_t highest_bytes, highest_ns;
    int64_t last_bytes;
    double highest_margin, last_margin; /* of these; negative: exact or unknown */
    int n_columns;
    int64_t n_buckets;
};

static int read_range(const struct query *query, int64_t process_id, struct screen *chart,
                      struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database,
                           "SELECT min(start_ns), max(end_ns), count(*) FROM timeline"
                           " WHERE process_id = :process",
                           &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    rc = rundb_step(&query->database, stmt, err);
    chart->start_ns = sqlite3_column_int64(stmt, 0);
    chart->end_ns = sqlite3_column_int64(stmt, 1);
    chart->n_buckets = sqlite3_column_int64(stmt, 2);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* The column of a time, which may be just outside the chart. */
static int column_of(const struct screen *chart, int64_t at_ns)
{
    double run_ns = (double)chart->end_ns - (double)chart->start_ns + 1;
    double column = ((double)at_ns - (double)chart->start_ns) * (double)chart->n_columns / run_ns;

    return column >= chart->n_columns ? (int)chart->n_columns : column < 0 ? -1 : (int)column;
}

static double margin_of(struct sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? -1
                                                           : sqlite3_column_double(row, column);
}

/* A bucket counts in every column that it touches, so short runs have no gaps. */
static void add_bucket(struct screen *chart, struct sqlite3_stmt *row)
{
    int64_t start_ns = sqlite3_column_int64(row, 0);
    int64_t peak_bytes = sqlite3_column_int64(row, 2);
    int first = column_of(chart, start_ns);
    int last = column_of(chart, saturating_subtract(sqlite3_column_int64(row, 1), 1));

    for (int i = first < 0 ? 0 : first; i == first || (i <= last && i < chart->n_columns); i++) {
        if (i < chart->n_columns && peak_bytes > chart->peak_bytes[i])
            chart->peak_bytes[i] = peak_bytes;
    }
    if (peak_bytes > chart->highest_bytes) {
        chart->highest_bytes = peak_bytes;
        chart->highest_ns = start_ns;
        chart->highest_margin = margin_of(row, 4);
    }
    chart->last_bytes = sqlite3_column_int64(row, 3);
    chart->last_margin = margin_of(row, 5);
}

static int read_buckets(const struct query *query, int64_t process_id, struct screen *chart,
                        struct error *err)
{
    struct sqlite3_stmt *stmt;
    char sql[256];
    int rc;

    if (chart->is_by_blocks)
        (void)snprintf(sql, sizeof(sql),
                       "SELECT start_ns, end_ns, %s, live_blocks, NULL, NULL FROM timeline"
                       " WHERE process_id = :process ORDER BY bucket",
                       chart->measure->blocks_column);
    else
        (void)snprintf(sql, sizeof(sql),
                       "SELECT start_ns, end_ns, %s, live_bytes, %s_margin, live_bytes_margin"
                       " FROM timeline WHERE process_id = :process ORDER BY bucket",
                       chart->measure->column, chart->measure->column);
    rc = rundb_prepare(&query->database, sql, &stmt, err);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1)
        add_bucket(chart, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

static const char *format_number(const struct screen *chart, int64_t value, char *text)
{
    return chart->is_by_blocks ? units_format_count(value, text) : units_format_bytes(value, text);
}

static const char *format_estimate(const struct screen *chart, int64_t value, double margin,
                                   char *text)
{
    return chart->is_by_blocks ? estimate_format_count(value, margin, text)
                               : estimate_format_bytes(value, margin, text);
}

/* The part of a column in a row of the chart; row 0 is the lowest. */
static const char *piece(const struct screen *chart, int64_t bytes, int row, bool is_utf8)
{
    static const char *const blocks[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double height = (double)bytes / (double)chart->highest_bytes * CHART_HEIGHT - row;
    int eighths = height >= 1 ? EIGHTHS : height <= 0 ? 0 : (int)(height * EIGHTHS + 0.5);

    if (eighths == 0 && height > 0 && row == 0)
        eighths = 1; /* values other than 0 are visible */
    if (is_utf8)
        return blocks[eighths];
    return eighths >= EIGHTHS / 2 ? "#" : eighths > 0 && row == 0 ? "." : " ";
}

static void print_rows(const struct screen *chart, FILE *out)
{
    bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    char label[UNITS_TEXT_BYTES];

    for (int row = CHART_HEIGHT - 1; row >= 0; row--) {
        int used = 0;

        if ((row + 1) % (CHART_HEIGHT / 3) == 0)
            (void)format_number(chart,
                                chart->highest_bytes / CHART_HEIGHT * (row + 1)
                                    + chart->highest_bytes % CHART_HEIGHT * (row + 1)
                                          / CHART_HEIGHT,
                                label);
        else
            label[0] = '\0';
        if (*label == '0') /* a few blocks have fewer steps than the chart */
            label[0] = '\0';
        (void)fprintf(out, "%*s |", LABEL_WIDTH, label);
        for (int i = 0; i < chart->n_columns; i++) {
            const char *text = piece(chart, chart->peak_bytes[i], row, is_utf8);
            if (*text == ' ')
                continue;
            (void)fprintf(out, "%*s%s", i - used, "", text);
            used = i + 1;
        }
        (void)putc('\n', out);
    }
}

static void print_axis(const struct screen *chart, FILE *out)
{
    char start[UNITS_TEXT_BYTES];
    char end[UNITS_TEXT_BYTES];

    (void)units_format_duration(chart->start_ns, start);
    (void)units_format_duration(chart->end_ns, end);
    (void)fprintf(out, "%*s +", LABEL_WIDTH, "0");
    for (int i = 0; i < chart->n_columns; i++)
        (void)putc('-', out);
    (void)fprintf(out, "\n%*s  %s%*s\n", LABEL_WIDTH, "", start,
                  chart->n_columns - (int)strlen(start), end);
}

static void print_head(const struct query *query, const struct screen *chart, const char *headline)
{
    bool is_live = chart->measure->what == SITE_CURVES_LIVE;
    char filters[512];
    char most[ESTIMATE_TEXT_BYTES];
    char at[UNITS_TEXT_BYTES];
    char last[ESTIMATE_TEXT_BYTES];

    headline_filters(query, filters, sizeof(filters));
    (void)fprintf(query->out, "%s%s\n", headline, filters);
    if (chart->highest_bytes == 0) {
        (void)fprintf(query->out, "nothing was %s\n", chart->measure->name);
        return;
    }
    (void)fprintf(query->out, "%s %s: at most %s%s about %s", chart->measure->name,
                  chart->is_by_blocks ? "blocks" : "bytes",
                  format_estimate(chart, chart->highest_bytes, chart->highest_margin, most),
                  is_live ? "" : " in a part of the time,",
                  units_format_duration(chart->highest_ns, at));
    if (is_live)
        (void)fprintf(query->out, ", %s at the end",
                      format_estimate(chart, chart->last_bytes, chart->last_margin, last));
    (void)putc('\n', query->out);
}

static int print_process(struct query *query, int64_t process_id, struct error *err)
{
    struct screen chart = {.n_columns = (query->style.width ? query->style.width : DEFAULT_WIDTH)
                                        - LABEL_WIDTH - 3};
    char headline[512];
    int rc = timeline_measure_of(query, &chart.measure, err);

    chart.is_by_blocks = query->options->is_by_blocks;
    if (rc != 0)
        return rc;
    if (chart.n_columns < MIN_COLUMNS)
        chart.n_columns = MIN_COLUMNS;
    if (chart.n_columns > MAX_COLUMNS)
        chart.n_columns = MAX_COLUMNS;
    rc = headline_format(query, process_id, headline, sizeof(headline), err);
    if (rc == 0)
        rc = read_range(query, process_id, &chart, err);
    if (rc == 0)
        rc = read_buckets(query, process_id, &chart, err);
    if (rc != 0)
        return rc;
    print_head(query, &chart, headline);
    if (chart.highest_bytes == 0)
        return 0;
    print_rows(&chart, query->out);
    print_axis(&chart, query->out);
    return 0;
}

static int make_rows(struct query *query, const struct timeline_measure *measure, struct error *err)
{
    const struct timeline_range range = timeline_range_of(query);
    struct time_rows_request request = {.which = measure->which, .has_range = range.is_part};
    struct filter_sql sql;
    int rc = filter_sql_init(&sql, &query->database, &range.filter, query->options->process_id,
                             query->options->site_id, err);

    request.filter = &sql;
    if (rc == 0)
        rc = timeline_range_resolve(&range, &sql, &request.from_ns, &request.to_ns, err);
    if (rc == 0 && query->options->is_sql_shown)
        rc = filter_sql_show(&sql, row_feed_sql(&sql, time_rows_without(measure->which)),
                             "the timeline below is", query->out, err);
    else if (rc == 0)
        rc = time_rows_fill(&query->database, &request, err);
    filter_sql_done(&sql);
    return rc;
}

int cmd_timeline_install(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    const struct timeline_measure *measure;
    int rc = timeline_measure_of(query, &measure, err);
    bool is_stored = rc == 0 && options->filter.n_values == 0 && !options->site_id
                     && measure->which == TIME_ROWS_ALL;

    if (rc != 0 || (is_stored && !query_is_picture(query->output_name)))
        return rc;
    rc = query_need_rows(query, err);
    return rc == 0 && !is_stored ? make_rows(query, measure, err) : rc;
}

static int draw(struct query *query, struct error *err)
{
    int64_t process_id = 0;
    int64_t n = 0;
    int rc = svg_check_output(&query->style, err);

    if (rc == 0)
        rc = timeline_picture_process(query, &process_id, err);
    if (rc == 0)
        rc = rundb_get_int64(&query->database, "SELECT count(*) FROM processes", &n, err);
    if (rc == 0 && n > 1 && !query->options->process_id)
        query_note(
            query,
            "drawn is process %lld, which had most memory, of %lld; process=ID chooses another",
            (long long)process_id, (long long)n);
    return rc == 0 ? timeline_picture_draw(query, process_id, false, err) : rc;
}

int cmd_timeline_run(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    int rc;

    if (query_is_picture(query->output_name))
        return draw(query, err);
    if (query->style.format != RENDER_TABLE || options->is_wide || options->sort_by
        || options->fail_if || options->is_sql_shown || options->count >= 0 || options->skip > 0)
        return report_run(query, err);
    rc = process_ranking_each(query, "peak_bytes", print_process, err);
    if (rc == 0)
        query_advise_command(query, "live", "--at peak");
    return rc;
}
