/* SPDX-License-Identifier: MIT */
/*
 * summary: the screen to look at first. As json and csv one object or row per process, whose
 * columns are the values of the view `summary`; --fail-if tests these columns.
 */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report_sql.h"
#include "queries/render/estimate.h"
#include "queries/render/stack_text.h"
#include "queries/render/table.h"
#include "queries/reports/process_ranking.h"
#include "queries/reports/reports.h"

#include <inttypes.h>
#include <string.h>

enum {
    CELL_BYTES = 1024,
    MAX_NUMBERS = 96,
    TOP_ROWS = 5
};

/* ---- programs: one row per process ---- */

/* "(SELECT process_id, max(value) FILTER (WHERE name = 'x') AS x, … FROM summary GROUP BY
 * process_id)" */
static int pivot_source(const struct query *query, char **ret_source, struct error *err)
{
    struct sqlite3_stmt *stmt;
    struct sqlite3_str *sql;
    int rc = rundb_prepare(
        &query->database,
        "SELECT name FROM summary WHERE process_id = (SELECT min(process_id) FROM processes)",
        &stmt, err);

    if (rc != 0)
        return rc;
    sql = sqlite3_str_new(query->database.handle);
    sqlite3_str_appendall(sql, "(SELECT process_id");
    while ((rc = rundb_step(&query->database, stmt, err)) == 1)
        sqlite3_str_appendf(sql, ", max(value) FILTER (WHERE name = '%s') AS %s",
                            rundb_text(stmt, 0), rundb_text(stmt, 0));
    sqlite3_str_appendall(sql, " FROM summary GROUP BY process_id)");
    sqlite3_finalize(stmt);
    *ret_source = sqlite3_str_finish(sql);
    return rc == 0 && !*ret_source ? error_set(err, ERROR_NOMEM, "no memory for a statement") : rc;
}

static int run_pivot(struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char *source = NULL;
    int64_t n_rows = 0;
    int rc = pivot_source(query, &source, err);

    if (rc == 0)
        rc = report_sql_prepare(query, source, "summary", NULL, &stmt, err);
    if (rc == 0 && !query_show_sql(query, stmt))
        rc = render_statement(&query->database, stmt, &query->style, query_max_rows(query),
                              query->out, &n_rows, err);
    sqlite3_finalize(stmt);
    sqlite3_free(source);
    if (rc == 0 && query->options->fail_if && n_rows > 0)
        query->has_failed = true;
    return rc;
}

/* ---- people: one screen per process ---- */

/* The values of one process by name. */
struct numbers {
    struct {
        char name[48];
        int64_t value;
        double share;
        bool is_known;
    } list[MAX_NUMBERS];

    size_t n;
};

static int read_numbers(const struct query *query, int64_t process_id, struct numbers *numbers,
                        struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc =
        rundb_prepare(&query->database,
                      "SELECT name, value FROM summary WHERE process_id = :process", &stmt, err);

    if (rc != 0)
        return rc;
    numbers->n = 0;
    sqlite3_bind_int64(stmt, 1, process_id);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1 && numbers->n < MAX_NUMBERS) {
        size_t i = numbers->n++;
        (void)snprintf(numbers->list[i].name, sizeof(numbers->list[i].name), "%s",
                       rundb_text(stmt, 0));
        numbers->list[i].value = sqlite3_column_int64(stmt, 1);
        numbers->list[i].share = sqlite3_column_double(stmt, 1);
        numbers->list[i].is_known = sqlite3_column_type(stmt, 1) != SQLITE_NULL;
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static size_t find_number(const struct numbers *numbers, const char *name)
{
    size_t i = 0;

    while (i < numbers->n && strcmp(numbers->list[i].name, name) != 0)
        i++;
    return i;
}

static int64_t number(const struct numbers *numbers, const char *name)
{
    size_t i = find_number(numbers, name);

    return i < numbers->n ? numbers->list[i].value : 0;
}

static double share(const struct numbers *numbers, const char *name)
{
    size_t i = find_number(numbers, name);

    return i < numbers->n ? numbers->list[i].share : 0;
}

static bool is_known(const struct numbers *numbers, const char *name)
{
    size_t i = find_number(numbers, name);

    return i < numbers->n && numbers->list[i].is_known;
}

/* Texts of one line: each has its own buffer until the line is printed. */
struct texts {
    char list[8][ESTIMATE_TEXT_BYTES];
    size_t n;
};

static const char *bytes(struct texts *texts, int64_t value)
{
    return units_format_bytes(value, texts->list[texts->n++ % 8]);
}

static const char *count(struct texts *texts, int64_t value)
{
    return units_format_count(value, texts->list[texts->n++ % 8]);
}

static const char *counted(struct texts *texts, int64_t value, const char *noun)
{
    return units_format_counted(value, noun, texts->list[texts->n++ % 8]);
}

/* A number with its margin, which is named NAME_margin if it exists. */
static double margin(const struct numbers *numbers, const char *name)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%s_margin", name);
    return is_known(numbers, text) ? share(numbers, text) : -1;
}

static const char *estimated_bytes(struct texts *texts, const struct numbers *f, const char *name)
{
    return estimate_format_bytes(number(f, name), margin(f, name), texts->list[texts->n++ % 8]);
}

static const char *estimated_blocks(struct texts *texts, const struct numbers *f, const char *name)
{
    return estimate_format_blocks(number(f, name), margin(f, name), texts->list[texts->n++ % 8]);
}

static void print_temporary(FILE *out, const struct numbers *f)
{
    struct texts t = {.n = 0};
    char percent[UNITS_TEXT_BYTES];

    if (is_known(f, "temporary_blocks"))
        (void)fprintf(out, "temporary   %s, %s of all\n",
                      counted(&t, number(f, "temporary_blocks"), "block"),
                      units_format_share(share(f, "temporary_share"), percent));
    else
        (void)fputs("temporary   not known from samples, nor how often realloc was called\n", out);
}

static void print_totals(FILE *out, const struct numbers *f)
{
    bool has_reallocs = is_known(f, "reallocs");
    struct texts t = {.n = 0};
    char peak[UNITS_TEXT_BYTES];

    (void)fprintf(out, "allocated   %s in %s; %s%s%s\n", estimated_bytes(&t, f, "allocated_bytes"),
                  estimated_blocks(&t, f, "allocations"),
                  has_reallocs ? counted(&t, number(f, "reallocs"), "realloc") : "",
                  has_reallocs ? ", " : "", counted(&t, number(f, "failures"), "failure"));
    (void)fprintf(out, "freed       %s in %s; %s from before it was recorded\n",
                  estimated_bytes(&t, f, "freed_bytes"), estimated_blocks(&t, f, "frees"),
                  is_known(f, "inherited_frees")
                      ? counted(&t, number(f, "inherited_frees"), "block")
                      : "not known from samples how many");
    (void)fprintf(out, "leaked      %s in %s, of these %s suppressed\n",
                  estimated_bytes(&t, f, "leaked_bytes"), estimated_blocks(&t, f, "leaked_blocks"),
                  estimated_bytes(&t, f, "suppressed_bytes"));
    print_temporary(out, f);
    if (number(f, "elided_blocks") > 0)
        (void)fprintf(out,
                      "elided      %s, all of them freed soon: in all totals, without rows%s\n",
                      counted(&t, number(f, "elided_blocks"), "block"),
                      number(f, "threads") > 1
                          ? "; the peak may have been higher by those live at one time (meta: "
                            "elided.most_live_bytes)"
                          : "");
    (void)fprintf(out, "peak        %s in %s at %s\n", estimated_bytes(&t, f, "peak_bytes"),
                  estimated_blocks(&t, f, "peak_blocks"),
                  units_format_duration(number(f, "peak_ns"), peak));
}

/* "heap at peak  12 MiB = 8 MiB live + …" */
static void print_heap(FILE *out, const struct numbers *f, const char *at)
{
    static const char *const parts[] = {"live", "slack", "overhead", "hole", "free_page", "top"};
    static const char *const words[] = {"live", "slack", "overhead", "holes", "free pages", "top"};
    struct texts t = {.n = 0};
    char name[64];
    bool is_partial = false;

    (void)snprintf(name, sizeof(name), "heap_at_%s_bytes", at);
    if (!is_known(f, name))
        return;
    (void)fprintf(out, "heap %-4s   %s =", at, bytes(&t, number(f, name)));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        (void)snprintf(name, sizeof(name), "heap_at_%s_%s_bytes", at, parts[i]);
        if (is_known(f, name))
            (void)fprintf(out, "%s %s %s", i ? " +" : "", bytes(&t, number(f, name)), words[i]);
        else
            is_partial = true;
    }
    (void)fputs(is_partial ? " + an unknown part\n" : "\n", out);
    if (strcmp(at, "peak") == 0 && number(f, "outside_heap_at_peak_live_bytes") > 0)
        (void)fprintf(out, "            and %s live in blocks with mappings of their own\n",
                      bytes(&t, number(f, "outside_heap_at_peak_live_bytes")));
}

/* The parts of a heap are known for glibc only. */
static void print_foreign_heaps(FILE *out, const struct numbers *f)
{
    struct texts t = {.n = 0};

    if (number(f, "foreign_heaps") > 0)
        (void)fprintf(
            out,
            "            %s of an unknown allocator: its pages are assumed to reach from block to "
            "block, whether resident or not\n",
            counted(&t, number(f, "foreign_heaps"), "heap"));
}

/* Free memory and blocks without a row cannot be told apart then. */
static void print_unseen_heaps(FILE *out, const struct numbers *f)
{
    struct texts t = {.n = 0};

    if (number(f, "unseen_heaps") > 0)
        (void)fprintf(
            out,
            "            %s with blocks that were not recorded: from before a fork or an attach, or"
            " allocated untraced: what is free there is unknown\n",
            counted(&t, number(f, "unseen_heaps"), "heap"));
}

static void print_rss_split(FILE *out, const struct numbers *f)
{
    struct texts t = {.n = 0};

    (void)fprintf(out, "RSS split   %s heaps + %s own mappings + %s files + %s other",
                  bytes(&t, number(f, "rss_heaps_bytes")),
                  bytes(&t, number(f, "rss_mappings_bytes")),
                  bytes(&t, number(f, "rss_files_bytes")), bytes(&t, number(f, "rss_other_bytes")));
    if (is_known(f, "rss_own_bytes"))
        (void)fprintf(out, ", without %s of mtrace's log", bytes(&t, number(f, "rss_own_bytes")));
    (void)fputs("\n", out);
}

static void print_rss(FILE *out, const struct numbers *f)
{
    char at[UNITS_TEXT_BYTES];
    struct texts t = {.n = 0};

    if (is_known(f, "rss_max_bytes"))
        (void)fprintf(out, "RSS peak    %s as the kernel counted%s\n",
                      bytes(&t, number(f, "rss_max_bytes")),
                      is_known(f, "rss_own_bytes") ? ", mtrace's log included" : "");
    if (!is_known(f, "rss_highest_bytes"))
        return;
    (void)fprintf(out, "%s %s at %s, the highest of %s\n",
                  is_known(f, "rss_max_bytes") ? "RSS sampled" : "RSS peak   ",
                  bytes(&t, number(f, "rss_highest_bytes")),
                  units_format_duration(number(f, "rss_highest_ns"), at),
                  counted(&t, number(f, "rss_samples"), "sample"));
    if (is_known(f, "rss_heaps_bytes"))
        print_rss_split(out, f);
}

/* Prints nothing if the whole run was recorded, which is normal. */
static void print_windows(FILE *out, const struct numbers *f)
{
    struct texts t = {.n = 0};
    char recorded[UNITS_TEXT_BYTES];
    char percent[UNITS_TEXT_BYTES];

    if (is_known(f, "recorded_share") && share(f, "recorded_share") < 1)
        (void)fprintf(out, "recorded    %s in %s, %s of its time\n",
                      units_format_duration(number(f, "recorded_ns"), recorded),
                      counted(&t, number(f, "windows"), "window"),
                      units_format_share(share(f, "recorded_share"), percent));
}

static void print_recording(FILE *out, const struct numbers *f)
{
    struct texts t = {.n = 0};
    char percent[UNITS_TEXT_BYTES];

    (void)fprintf(
        out, "recording   %s of %s, %s dropped; %s", counted(&t, number(f, "events"), "event"),
        counted(&t, number(f, "threads"), "thread"), count(&t, number(f, "events_dropped")),
        counted(&t, number(f, "stacks"), "stack"));
    if (is_known(f, "complete_share"))
        (void)fprintf(out, ", %s of allocations with a complete one",
                      units_format_share(share(f, "complete_share"), percent));
    (void)fputs("\n", out);
}

/* The first rows of a report: two numbers and where. */
static const struct top {
    const char *title;
    const char *command;
    const char *sql; /* bytes, blocks, function, source, line, module */
} tops[] = {
    {"leaked, growing ones first", "leaks",
     "SELECT leaked_bytes, leaked_blocks, function, source, line, module FROM leaks"
     " WHERE process_id = :process AND suppressed_by IS NULL LIMIT :count"},
    {"live at the peak", "peak",
     "SELECT bytes, blocks, function, source, line, module FROM peak WHERE process_id = :process LIMIT :count"},
    {"temporary", "temporary",
     "SELECT temporary_bytes, temporary_blocks, function, source, line, module FROM temporary"
     " WHERE process_id = :process LIMIT :count"},
    {"allocated most often", "hot",
     "SELECT allocated_bytes, allocated_blocks, function, source, line, module FROM hot"
     " WHERE process_id = :process LIMIT :count"},
};

static int print_top(const struct query *query, const struct top *top, int64_t process_id,
                     struct error *err)
{
    static const struct where_columns where = {2, 3, 4, 5};
    struct sqlite3_stmt *stmt;
    struct table table;
    char text[CELL_BYTES];
    int rc = rundb_prepare(&query->database, top->sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    sqlite3_bind_int64(stmt, 2, TOP_ROWS);
    table_init(&table);
    table_add_column(&table, "bytes", true);
    table_add_column(&table, "blocks", true);
    table_add_column(&table, top->title, false);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1) {
        table_add_cell(&table, units_format_bytes(sqlite3_column_int64(stmt, 0), text));
        table_add_cell(&table, units_format_count(sqlite3_column_int64(stmt, 1), text));
        stack_text_format_place(stmt, &where, text, sizeof(text));
        table_add_cell(&table, text);
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && table.n_cells > 0) {
        (void)fputs("\n", query->out);
        rc = table_print(&table, query->style.width, query->style.is_coloured, query->out, err);
    }
    table_done(&table);
    return rc;
}

static int print_process(struct query *query, int64_t process_id, struct error *err)
{
    struct numbers numbers;
    int rc = read_numbers(query, process_id, &numbers, err);

    if (rc == 0)
        rc = headline_print(query, process_id, err);
    if (rc != 0)
        return rc;
    print_totals(query->out, &numbers);
    print_heap(query->out, &numbers, "peak");
    print_heap(query->out, &numbers, "end");
    print_foreign_heaps(query->out, &numbers);
    print_unseen_heaps(query->out, &numbers);
    print_rss(query->out, &numbers);
    print_windows(query->out, &numbers);
    print_recording(query->out, &numbers);
    for (size_t i = 0; rc == 0 && i < sizeof(tops) / sizeof(tops[0]); i++)
        rc = print_top(query, &tops[i], process_id, err);
    (void)fputs("\n", query->out);
    return rc;
}

/* Modules without line information, and how to get it. */
static int print_debug_notes(const struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        &query->database,
        "SELECT path, debug_note FROM objects WHERE debug_note IS NOT NULL ORDER BY path", &stmt,
        err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&query->database, stmt, err)) == 1)
        (void)fprintf(query->out, "no lines in %s: %s\n", rundb_text(stmt, 0), rundb_text(stmt, 1));
    sqlite3_finalize(stmt);
    return rc;
}

int cmd_summary_run(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    int rc;

    if (query->style.format != RENDER_TABLE || options->fail_if || options->is_sql_shown)
        return run_pivot(query, err);
    rc = process_ranking_each(query, "peak_bytes", print_process, err);
    if (rc == 0)
        rc = print_debug_notes(query, err);
    if (rc == 0)
        query_advise(query, "leaks %s    # or peak, %shot%s", query->shell_path,
                     query->database.sample_bytes ? "" : "temporary, ",
                     query->database.sample_bytes ? "" : ", fragmentation");
    return rc;
}
