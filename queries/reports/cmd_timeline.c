/* SPDX-License-Identifier: MIT */
/*
 * timeline: live bytes over time. People get a chart for each process, in which a column is as high
 * as memory was at most in that time; --wide, sorting and other formats give the rows themselves.
 */
#include "queries/question/headline.h"
#include "queries/question/query.h"
#include "queries/question/report.h"
#include "queries/reports/process_ranking.h"
#include "queries/reports/reports.h"
#include "support/error.h"
#include "support/saturating.h"
#include "support/units.h"

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

struct chart {
    int64_t start_ns, end_ns;
    int64_t peak_bytes[MAX_COLUMNS];
    int64_t highest_bytes, highest_ns;
    int64_t last_bytes;
    int n_columns;
    int64_t n_buckets;
};

static int read_range(const struct query *query, int64_t process_id, struct chart *chart,
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

/* Of a time, or the column beside the chart. */
static int column_of(const struct chart *chart, int64_t at_ns)
{
    double run_ns = (double)chart->end_ns - (double)chart->start_ns + 1;
    double column = ((double)at_ns - (double)chart->start_ns) * (double)chart->n_columns / run_ns;

    return column >= chart->n_columns ? (int)chart->n_columns : column < 0 ? -1 : (int)column;
}

/* A bucket counts for every column it touches, so that short runs have no gaps. */
static void add_bucket(struct chart *chart, struct sqlite3_stmt *row)
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
    }
    chart->last_bytes = sqlite3_column_int64(row, 3);
}

static int read_buckets(const struct query *query, int64_t process_id, struct chart *chart,
                        struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database,
                           "SELECT start_ns, end_ns, peak_bytes, live_bytes FROM timeline"
                           " WHERE process_id = :process ORDER BY bucket",
                           &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1)
        add_bucket(chart, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* The piece of a column that is in a row of the chart, row 0 being the lowest. */
static const char *piece(const struct chart *chart, int64_t bytes, int row, bool is_utf8)
{
    static const char *const blocks[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double height = (double)bytes / (double)chart->highest_bytes * CHART_HEIGHT - row;
    int eighths = height >= 1 ? EIGHTHS : height <= 0 ? 0 : (int)(height * EIGHTHS + 0.5);

    if (eighths == 0 && height > 0 && row == 0)
        eighths = 1; /* what is not 0 is seen */
    if (is_utf8)
        return blocks[eighths];
    return eighths >= EIGHTHS / 2 ? "#" : eighths > 0 && row == 0 ? "." : " ";
}

static void print_rows(const struct chart *chart, FILE *out)
{
    bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    char label[UNITS_TEXT_BYTES];

    for (int row = CHART_HEIGHT - 1; row >= 0; row--) {
        int used = 0;

        if ((row + 1) % (CHART_HEIGHT / 3) == 0)
            (void)units_format_bytes(chart->highest_bytes * (row + 1) / CHART_HEIGHT, label);
        else
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

static void print_axis(const struct chart *chart, FILE *out)
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

static int print_process(struct query *query, int64_t process_id, struct error *err)
{
    struct chart chart = {.n_columns = (query->style.width ? query->style.width : DEFAULT_WIDTH)
                                       - LABEL_WIDTH - 3};
    char headline[512];
    char bytes[UNITS_TEXT_BYTES];
    char at[UNITS_TEXT_BYTES];
    char last[UNITS_TEXT_BYTES];
    int rc;

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
    (void)fprintf(query->out, "%s\n", headline);
    if (chart.highest_bytes == 0) {
        (void)fputs("nothing was live\n", query->out);
        return 0;
    }
    (void)fprintf(query->out, "live bytes: at most %s about %s, %s at the end\n",
                  units_format_bytes(chart.highest_bytes, bytes),
                  units_format_duration(chart.highest_ns, at),
                  units_format_bytes(chart.last_bytes, last));
    print_rows(&chart, query->out);
    print_axis(&chart, query->out);
    return 0;
}

int cmd_timeline_run(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    int rc;

    if (query->style.format != RENDER_TABLE || options->is_wide || options->sort_by
        || options->fail_if || options->is_sql_shown || options->count >= 0 || options->skip > 0)
        return report_run(query, err);
    rc = process_ranking_each(query, "peak_bytes", print_process, err);
    if (rc == 0)
        (void)fprintf(query->out, "next: mtrace-query live %s --at TIME\n", query->shell_path);
    return rc;
}
