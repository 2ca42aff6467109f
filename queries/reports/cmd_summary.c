/* SPDX-License-Identifier: MIT */
/*
 * summary: the screen to look at first. As json and csv one object or row per process, whose
 * columns are the values of the view `summary`; --fail-if tests these columns.
 */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report_sql.h"
#include "queries/render/estimate.h"
#include "queries/render/shorten.h"
#include "queries/render/stack_text.h"
#include "queries/render/table.h"
#include "queries/reports/findings.h"
#include "queries/reports/process_ranking.h"
#include "queries/reports/reports.h"
#include "queries/reports/resident_findings.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELL_BYTES = 1024,
    TOP_ROWS = 3,
    MAX_FOUND = 20 /* processes whose findings JSON has; findings take some 10 ms each */
};

/* ---- programs: one row per process ---- */

/* {"1": [findings of process 1], …} of the largest processes */
static int collect_all(struct query *query, char **ret_json, struct error *err)
{
    struct summary_numbers numbers;
    struct findings findings;
    struct sqlite3_stmt *stmt;
    size_t size = 0;
    FILE *out = open_memstream(ret_json, &size);
    int n = 0;
    int rc = out ? rundb_prepare(&query->database,
                                 "SELECT process_id FROM processes WHERE ?1 IN (0, process_id)"
                                 " ORDER BY peak_bytes DESC, process_id LIMIT ?2",
                                 &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for findings");

    if (rc == 0) {
        sqlite3_bind_int64(stmt, 1, query->options->process_id);
        sqlite3_bind_int64(stmt, 2, MAX_FOUND);
        while ((rc = rundb_step(&query->database, stmt, err)) == 1) {
            int64_t process_id = sqlite3_column_int64(stmt, 0);

            rc = summary_numbers_read(query, process_id, &numbers, err);
            if (rc == 0)
                rc = findings_collect(query, process_id, &numbers, &findings, err);
            if (rc != 0)
                break;
            (void)fprintf(out, "%s\"%" PRId64 "\":", n++ ? "," : "{", process_id);
            findings_put_json(query, &findings, out);
        }
        sqlite3_finalize(stmt);
    }
    if (out) {
        (void)fputs(n ? "}" : "{}", out);
        (void)fclose(out);
    }
    return rc;
}

/* "(SELECT process_id, max(value) FILTER (WHERE name = 'x') AS x, … FROM summary GROUP BY
 * process_id)" */
static int pivot_source(const struct query *query, bool has_findings, char **ret_source,
                        struct error *err)
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
    if (has_findings)
        sqlite3_str_appendall(sql, ", (SELECT f.value FROM json_each(:made_rows) AS f"
                                   " WHERE f.key = process_id || '') AS findings");
    sqlite3_str_appendall(sql, " FROM summary GROUP BY process_id)");
    sqlite3_finalize(stmt);
    *ret_source = sqlite3_str_finish(sql);
    return rc == 0 && !*ret_source ? error_set(err, ERROR_NOMEM, "no memory for a statement") : rc;
}

static int run_pivot(struct query *query, struct error *err)
{
    bool has_findings = query->style.format == RENDER_JSON && !query->options->is_sql_shown;
    struct render_style style = query->style;
    struct sqlite3_stmt *stmt = NULL;
    char *source = NULL;
    char *findings = NULL;
    int64_t n_rows = 0;
    int rc = pivot_source(query, has_findings, &source, err);

    style.json_column = has_findings ? "findings" : NULL;
    if (rc == 0 && has_findings)
        rc = collect_all(query, &findings, err);
    if (rc == 0)
        rc = report_sql_prepare(query, source, "summary", NULL, &stmt, err);
    if (rc == 0 && has_findings)
        sqlite3_bind_text(stmt, sqlite3_bind_parameter_index(stmt, ":made_rows"), findings, -1,
                          SQLITE_STATIC);
    if (rc == 0 && !query_show_sql(query, stmt))
        rc = render_statement(&query->database, stmt, &style, query_max_rows(query), query->out,
                              &n_rows, err);
    sqlite3_finalize(stmt);
    sqlite3_free(source);
    free(findings);
    if (rc == 0 && query->options->fail_if && n_rows > 0)
        query->has_failed = true;
    return rc;
}

/* ---- people: one screen per process ---- */

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

static const char *estimated_bytes(struct texts *texts, const struct summary_numbers *f,
                                   const char *name)
{
    return estimate_format_bytes(summary_number(f, name), summary_margin(f, name),
                                 texts->list[texts->n++ % 8]);
}

static const char *estimated_blocks(struct texts *texts, const struct summary_numbers *f,
                                    const char *name)
{
    return estimate_format_blocks(summary_number(f, name), summary_margin(f, name),
                                  texts->list[texts->n++ % 8]);
}

static void print_temporary(FILE *out, const struct summary_numbers *f)
{
    struct texts t = {.n = 0};
    char percent[UNITS_TEXT_BYTES];

    if (summary_is_known(f, "temporary_blocks"))
        (void)fprintf(out, "temporary   %s, %s of all\n",
                      counted(&t, summary_number(f, "temporary_blocks"), "block"),
                      units_format_share(summary_share(f, "temporary_share"), percent));
    else
        (void)fputs("temporary   not known from samples, nor how often realloc was called\n", out);
}

static void print_totals(FILE *out, const struct summary_numbers *f, const char *leaked)
{
    bool has_reallocs = summary_is_known(f, "reallocs");
    struct texts t = {.n = 0};
    char peak[UNITS_TEXT_BYTES];

    (void)fprintf(out, "allocated   %s in %s; %s%s%s\n", estimated_bytes(&t, f, "allocated_bytes"),
                  estimated_blocks(&t, f, "allocations"),
                  has_reallocs ? counted(&t, summary_number(f, "reallocs"), "realloc") : "",
                  has_reallocs ? ", " : "", counted(&t, summary_number(f, "failures"), "failure"));
    (void)fprintf(out, "freed       %s in %s; %s from before it was recorded\n",
                  estimated_bytes(&t, f, "freed_bytes"), estimated_blocks(&t, f, "frees"),
                  summary_is_known(f, "inherited_frees")
                      ? counted(&t, summary_number(f, "inherited_frees"), "block")
                      : "not known from samples how many");
    (void)fprintf(out, "%-11s %s in %s", leaked, estimated_bytes(&t, f, "leaked_bytes"),
                  estimated_blocks(&t, f, "leaked_blocks"));
    if (summary_number(f, "suppressed_blocks") > 0)
        (void)fprintf(out, ", of these %s suppressed", estimated_bytes(&t, f, "suppressed_bytes"));
    (void)fputs("\n", out);
    print_temporary(out, f);
    if (summary_number(f, "elided_blocks") > 0)
        (void)fprintf(out,
                      "elided      %s, all of them freed soon: in all totals, without rows; "
                      "the peak may have been higher by those live at one time "
                      "(meta: elided.most_live_bytes)\n",
                      counted(&t, summary_number(f, "elided_blocks"), "block"));
    (void)fprintf(out, "peak        %s in %s at %s\n", estimated_bytes(&t, f, "peak_bytes"),
                  estimated_blocks(&t, f, "peak_blocks"),
                  units_format_duration(summary_number(f, "peak_ns"), peak));
}

/* "heap peak   12 MiB = 8 MiB live + …" */
static void print_heap(FILE *out, const struct summary_numbers *f, const char *at)
{
    static const char *const parts[] = {"live", "slack", "overhead", "hole", "free_page", "top"};
    static const char *const words[] = {"live", "slack", "overhead", "holes", "free pages", "top"};
    struct texts t = {.n = 0};
    char name[64];
    bool is_partial = false;

    (void)snprintf(name, sizeof(name), "heap_at_%s_bytes", at);
    if (!summary_is_known(f, name))
        return;
    const char *other = summary_other_allocator(f);
    int width = fprintf(out, "%s %s", other ? other : "heap", at);
    (void)fprintf(out, "%*s%s =", width < 11 ? 12 - width : 1, "",
                  bytes(&t, summary_number(f, name)));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        (void)snprintf(name, sizeof(name), "heap_at_%s_%s_bytes", at, parts[i]);
        if (summary_is_known(f, name))
            (void)fprintf(out, "%s %s %s", i ? " +" : "", bytes(&t, summary_number(f, name)),
                          words[i]);
        else
            is_partial = true;
    }
    (void)fputs(is_partial ? " + an unknown part\n" : "\n", out);
    if (strcmp(at, "peak") == 0 && summary_number(f, "outside_heap_at_peak_live_bytes") > 0)
        (void)fprintf(out, "            and %s live in blocks with their own mapping\n",
                      bytes(&t, summary_number(f, "outside_heap_at_peak_live_bytes")));
}

/* Only glibc's heaps have known parts; pages that glibc returned from arenas are not subtracted. */
static void print_foreign_heaps(FILE *out, const struct summary_numbers *f)
{
    struct texts t = {.n = 0};
    const char *other = summary_other_allocator(f);

    if (summary_number(f, "foreign_heaps") > 0)
        (void)fprintf(out, "            %s of %s, counted from block to block, resident or not\n",
                      counted(&t, summary_number(f, "foreign_heaps"), other ? "range" : "heap"),
                      other ? other : "an allocator that is not known");
    if (summary_number(f, "arenas") > 0)
        (void)fprintf(out,
                      "            %s of glibc, counted at the largest extent, resident or not\n",
                      counted(&t, summary_number(f, "arenas"), "arena"));
}

/* Free memory and blocks without a row cannot be told apart then. */
static void print_unseen_heaps(FILE *out, const struct summary_numbers *f)
{
    struct texts t = {.n = 0};

    if (summary_number(f, "unseen_heaps") > 0)
        (void)fprintf(
            out,
            "            %s with blocks that were not recorded: from before a fork or an attach, or"
            " allocated untraced: what is free there is unknown\n",
            counted(&t, summary_number(f, "unseen_heaps"), "heap"));
}

static void print_rss_split(FILE *out, const struct summary_numbers *f)
{
    static const char *const names[RESIDENT_PARTS] = {"rss_heaps_bytes",  "rss_mappings_bytes",
                                                      "rss_stacks_bytes", "rss_shared_bytes",
                                                      "rss_files_bytes",  "rss_other_bytes"};
    int64_t parts[RESIDENT_PARTS];
    char text[RESIDENT_TEXT_BYTES];
    struct texts t = {.n = 0};

    if (summary_number(f, "rss_parts_ns") == summary_number(f, "rss_highest_ns")) {
        (void)fputs("RSS split   ", out);
    } else {
        char at[UNITS_TEXT_BYTES];
        (void)fprintf(out,
                      "RSS split   %s at %s = ", bytes(&t, summary_number(f, "rss_parts_bytes")),
                      units_format_duration(summary_number(f, "rss_parts_ns"), at));
    }
    for (size_t i = 0; i < RESIDENT_PARTS; i++)
        parts[i] = summary_number(f, names[i]);
    (void)fputs(resident_parts_format(parts, summary_other_allocator(f), text), out);
    if (summary_is_known(f, "rss_own_bytes"))
        (void)fprintf(out, ", without %s of mtrace", bytes(&t, summary_number(f, "rss_own_bytes")));
    (void)fputs("\n", out);
}

static void print_rss(FILE *out, const struct summary_numbers *f)
{
    char at[UNITS_TEXT_BYTES];
    struct texts t = {.n = 0};

    if (summary_is_known(f, "rss_max_bytes"))
        (void)fprintf(out, "RSS peak    %s as the kernel counted%s\n",
                      bytes(&t, summary_number(f, "rss_max_bytes")),
                      summary_is_known(f, "rss_own_bytes") ? ", mtrace's own memory included" : "");
    if (!summary_is_known(f, "rss_highest_bytes"))
        return;
    (void)fprintf(out, "%s %s at %s, the highest of %s%s\n",
                  summary_is_known(f, "rss_max_bytes") ? "RSS sampled" : "RSS peak   ",
                  bytes(&t, summary_number(f, "rss_highest_bytes")),
                  units_format_duration(summary_number(f, "rss_highest_ns"), at),
                  counted(&t, summary_number(f, "rss_samples"), "sample"),
                  summary_is_known(f, "rss_max_bytes")
                          && summary_number(f, "rss_highest_bytes")
                                 > summary_number(f, "rss_max_bytes")
                      ? "; above the peak, so one of the two is inexact"
                      : "");
    if (summary_is_known(f, "rss_heaps_bytes"))
        print_rss_split(out, f);
}

/* Prints nothing if the whole run was recorded, which is normal. */
static void print_windows(FILE *out, const struct summary_numbers *f)
{
    struct texts t = {.n = 0};
    char recorded[UNITS_TEXT_BYTES];
    char percent[UNITS_TEXT_BYTES];

    if (summary_is_known(f, "recorded_share") && summary_share(f, "recorded_share") < 1)
        (void)fprintf(out, "recorded    %s in %s, %s of its time\n",
                      units_format_duration(summary_number(f, "recorded_ns"), recorded),
                      counted(&t, summary_number(f, "windows"), "window"),
                      units_format_share(summary_share(f, "recorded_share"), percent));
}

static void print_recording(FILE *out, const struct summary_numbers *f)
{
    struct texts t = {.n = 0};
    char percent[UNITS_TEXT_BYTES];

    (void)fprintf(out, "recording   %s of %s", counted(&t, summary_number(f, "events"), "event"),
                  counted(&t, summary_number(f, "threads"), "thread"));
    if (summary_number(f, "events_dropped") > 0)
        (void)fprintf(out, ", %s dropped", count(&t, summary_number(f, "events_dropped")));
    (void)fprintf(out, "; %s", counted(&t, summary_number(f, "stacks"), "stack"));
    if (summary_is_known(f, "complete_share"))
        (void)fprintf(out, ", %s of allocations with a complete one",
                      units_format_share(summary_share(f, "complete_share"), percent));
    (void)fputs("\n", out);
}

/* The first rows of a report: two numbers and where. */
static const struct top {
    const char *title; /* NULL: that of leaks */
    const char *command;
    const char *sql; /* bytes, blocks, function, source, line, module */
} tops[] = {
    {NULL, "leaks",
     "SELECT leaked_bytes, leaked_blocks, function, source, line, module FROM leaks"
     " WHERE process_id = :process AND suppressed_by IS NULL LIMIT :count"},
    {"live at the peak", "peak",
     "SELECT bytes, blocks, function, source, line, module FROM peak WHERE process_id = :process LIMIT :count"},
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
    char leaks[CELL_BYTES];
    int rc = rundb_prepare(&query->database, top->sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    sqlite3_bind_int64(stmt, 2, TOP_ROWS);
    table_init(&table);
    table_add_column(&table, "bytes", true);
    table_add_column(&table, "blocks", true);
    (void)snprintf(leaks, sizeof(leaks), "%s, by bytes, growing ones 64-fold",
                   headline_leaked(query, process_id));
    table_add_column(&table, top->title ? top->title : leaks, false);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1) {
        table_add_cell(&table, units_format_bytes(sqlite3_column_int64(stmt, 0), text));
        table_add_cell(&table, units_format_count(sqlite3_column_int64(stmt, 1), text));
        stack_text_add_place(&table, stmt, &where, "");
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && table.n_cells > 0) {
        (void)fputs("\n", query->out);
        rc = table_print(&table, query->style.width, query->style.is_coloured, query->out, err);
    }
    table_done(&table);
    return rc;
}

/* A finding names the first row, and the command for the others. */
static bool is_found(const struct findings *findings, const struct top *top)
{
    for (size_t i = 0; i < findings->n; i++)
        if (finding_is_about(&findings->list[i], top->command))
            return true;
    return false;
}

static int print_process(struct query *query, int64_t process_id, struct error *err)
{
    struct summary_numbers numbers;
    struct findings findings;
    int rc = summary_numbers_read(query, process_id, &numbers, err);

    if (rc == 0)
        rc = findings_collect(query, process_id, &numbers, &findings, err);
    if (rc == 0)
        rc = headline_print(query, process_id, err);
    if (rc != 0)
        return rc;
    findings_print(query, &findings);
    print_totals(query->out, &numbers, headline_leaked(query, process_id));
    print_heap(query->out, &numbers, "peak");
    print_heap(query->out, &numbers, "end");
    print_foreign_heaps(query->out, &numbers);
    print_unseen_heaps(query->out, &numbers);
    print_rss(query->out, &numbers);
    print_windows(query->out, &numbers);
    print_recording(query->out, &numbers);
    for (size_t i = 0; rc == 0 && i < sizeof(tops) / sizeof(tops[0]); i++)
        if (!is_found(&findings, &tops[i]))
            rc = print_top(query, &tops[i], process_id, err);
    (void)fputs("\n", query->out);
    return rc;
}

/* Modules without line information, and how to get it. Several are counted on one line. */
static int print_debug_notes(const struct query *query, struct error *err)
{
    char names[2][PATH_MAX];
    char text[3 * PATH_MAX];
    struct sqlite3_stmt *stmt;
    int n = 0;
    int rc = rundb_prepare(&query->database,
                           "SELECT path, debug_note, count(*) OVER () FROM objects"
                           " WHERE debug_note IS NOT NULL ORDER BY path",
                           &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&query->database, stmt, err)) == 1) {
        bool is_counted = !query->options->is_wide && sqlite3_column_int(stmt, 2) > 2;

        if (n < 2)
            (void)snprintf(names[n], sizeof(names[n]), "%s", shorten_path(rundb_text(stmt, 0)));
        n++;
        if (is_counted && n != 2)
            continue;
        if (is_counted)
            (void)snprintf(text, sizeof(text),
                           "no lines in %d modules (%s, %s, …): --wide shows why, and how to get "
                           "them",
                           sqlite3_column_int(stmt, 2), names[0], names[1]);
        else
            (void)snprintf(text, sizeof(text), "no lines in %s: %s", rundb_text(stmt, 0),
                           rundb_text(stmt, 1));
        utf8_clean(text);
        (void)fprintf(query->out, "%s\n", text);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int find_leaks(const struct query *query, bool *ret_has_leaks, struct error *err)
{
    char sql[192];
    int64_t has_leaks = 0;
    int rc;

    (void)snprintf(sql, sizeof(sql),
                   "SELECT EXISTS (SELECT 1 FROM _leaked_stacks WHERE rule_id IS NULL"
                   " AND %" PRId64 " IN (0, process_id))",
                   query->options->process_id);
    rc = rundb_get_int64(&query->database, sql, &has_leaks, err);
    *ret_has_leaks = has_leaks;
    return rc;
}

int cmd_summary_run(struct query *query, struct error *err)
{
    bool has_leaks = true;
    int rc;

    if (!query_is_screen(query))
        return run_pivot(query, err);
    rc = process_ranking_each(query, "peak_bytes", print_process, err);
    if (rc == 0)
        rc = print_debug_notes(query, err);
    if (rc == 0)
        rc = find_leaks(query, &has_leaks, err);
    if (rc == 0)
        query_advise(query, "%s %s    # or %s%shot%s", has_leaks ? "leaks" : "peak",
                     query->shell_path, has_leaks ? "peak, " : "",
                     query->database.sample_bytes ? "" : "temporary, ",
                     query->database.sample_bytes ? "" : ", fragmentation");
    return rc;
}
