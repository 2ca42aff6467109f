/* SPDX-License-Identifier: MIT */
/*
 * report: one self-contained HTML page about a process: numbers, charts, sortable tables, flame
 * graphs of several measures. It needs no other file and no network, and follows the light or dark
 * style of the reader. Only the largest rows and frames are included, so that it stays below 2 MB.
 */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/headline.h"
#include "queries/core/notes.h"
#include "queries/core/query.h"
#include "queries/core/query_open.h"
#include "queries/filter/class_rows.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/thread_rows.h"
#include "queries/filter/time_rows.h"
#include "queries/render/chart.h"
#include "queries/render/estimate.h"
#include "queries/render/render.h"
#include "queries/render/svg.h"
#include "queries/reports/cmd_histogram.h"
#include "queries/reports/findings.h"
#include "queries/reports/report_flames.h"
#include "queries/reports/reports.h"
#include "queries/reports/summary_numbers.h"
#include "queries/reports/timeline_picture.h"

#include <stdlib.h>
#include <string.h>

enum {
    TITLE_BYTES = 1024
};

/* ---- tables ---- */

static const struct part {
    const char *id, *title, *help;
    const char *sql; /* parameter ?1: the process */
    /* Based on snapshots, which include all blocks: not recomputed for a filter. */
    bool is_over_time;
} parts[] = {
    {"leaks", "Leaks", "call sites whose blocks were never freed, those that go on first",
     "WITH heaviest AS MATERIALIZED (SELECT process_id, ifnull(call_site_id, 0) AS site, backtrace_id, max(leaked_bytes)"
     " FROM _leaked_stacks WHERE rule_id IS NULL GROUP BY 1, 2)"
     " SELECT l.leaked_bytes, l.leaked_blocks, l.share_of_site, l.pattern, l.stacks, l.call_site_id, l.function, l.source,"
     " l.line, l.module, (SELECT substr(x.stack, 1, 2000) FROM stack_texts AS x WHERE x.backtrace_id = (SELECT h.backtrace_id FROM heaviest"
     " AS h WHERE h.process_id = l.process_id AND h.site = ifnull(l.call_site_id, 0))) AS stack,"
     " l.leaked_bytes_margin, l.leaked_blocks_margin FROM leaks AS l"
     " WHERE l.process_id = ?1 AND l.suppressed_by IS NULL LIMIT 100",
     false},
    {"peak", "Live at the peak", "call sites with live blocks when memory was highest",
     "WITH heaviest AS MATERIALIZED (SELECT t.process_id, ifnull(b.call_site_id, 0) AS site, t.backtrace_id, max(t.peak_bytes)"
     " FROM backtrace_totals AS t JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id GROUP BY 1, 2)"
     " SELECT l.bytes, l.blocks, l.share, l.call_site_id, l.function, l.source, l.line, l.module,"
     " (SELECT substr(x.stack, 1, 2000) FROM stack_texts AS x WHERE x.backtrace_id = (SELECT h.backtrace_id FROM heaviest AS h"
     " WHERE h.process_id = l.process_id AND h.site = ifnull(l.call_site_id, 0))) AS stack,"
     " l.bytes_margin, l.blocks_margin FROM peak AS l"
     " WHERE l.process_id = ?1 LIMIT 100",
     false},
    {"growth", "Growth", "call sites whose live bytes rose, those that go on first",
     "SELECT grown_bytes, bytes_per_s, pattern, since_ns, to_bytes, call_site_id, function, source, line, module"
     " FROM growth WHERE process_id = ?1 LIMIT 100",
     true},
    {"temporary", "Temporary", "call sites whose blocks are freed immediately",
     "SELECT * FROM temporary WHERE process_id = ?1 LIMIT 200", false},
    {"hot", "Allocated most often", "call sites by how often they allocate",
     "SELECT * FROM hot WHERE process_id = ?1 LIMIT 200", false},
    {"modules", "Libraries",
     "what executables and libraries allocate, alone and with all they call",
     "SELECT module AS library, self_allocated_bytes, self_leaked_bytes, self_peak_bytes, inclusive_allocated_bytes,"
     " inclusive_leaked_bytes, inclusive_peak_bytes FROM by_module WHERE process_id = ?1 LIMIT 200",
     false},
    {"threads", "Threads", "what each thread allocated and freed",
     "SELECT tid, name, start_ns, end_ns, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, leaked_blocks,"
     " leaked_bytes, peak_bytes FROM threads WHERE process_id = ?1 ORDER BY allocated_bytes DESC LIMIT 200",
     false},
    {"processes", "Processes", "all that were recorded",
     "SELECT process_id, pid, executable, iif(json_valid(command_line), (SELECT group_concat(value, ' ')"
     " FROM json_each(command_line)), command_line) AS command_line, duration_ns, end_kind, end_value, peak_bytes FROM processes"
     " WHERE ?1 > 0 ORDER BY peak_bytes DESC LIMIT 200",
     false},
};

/* Nothing inside a script element may look like its end. */
static void put_escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '<')
            (void)fputs("\\u003c", out);
        else
            (void)putc(*text, out);
    }
}

typedef int json_fn(const struct query *query, int64_t process_id, const void *context, FILE *out,
                    struct error *err);

static int put_json(const struct query *query, int64_t process_id, const char *id, json_fn *write,
                    const void *context, struct error *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int rc = out ? write(query, process_id, context, out, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a page");

    if (out && fclose(out) != 0 && rc == 0)
        rc = error_set(err, ERROR_NOMEM, "no memory for a page");
    if (rc == 0) {
        (void)fprintf(query->out, "<script type=\"application/json\" id=\"%s\">", id);
        put_escaped(text, query->out);
        (void)fputs("</script>\n", query->out);
    }
    free(text);
    return rc;
}

static int write_rows(const struct query *query, int64_t process_id, const void *context, FILE *out,
                      struct error *err)
{
    const struct render_style style = {.format = RENDER_JSON};
    const struct part *part = context;
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database, part->sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    rc = render_statement(&query->database, stmt, &style, -1, out, NULL, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int write_flames(const struct query *query, int64_t process_id, const void *context,
                        FILE *out, struct error *err)
{
    (void)context;
    return report_flames_put(query, process_id, out, err);
}

/* ---- numbers ---- */

static const struct number {
    const char *name, *title;
    bool
        is_of_blocks; /* only blocks that pass the filter; other numbers are of the whole process */
} numbers[] = {
    {"allocated_bytes", "allocated", true},
    {"allocations", "blocks allocated", true},
    {"peak_bytes", "live at the peak", false},
    {"peak_ns", "the peak was at", false},
    {"leaked_bytes", NULL, true}, /* "leaked" or "live" */
    {"leaked_blocks", "blocks of these", true},
    {"suppressed_bytes", "of these suppressed", true},
    {"temporary_blocks", "temporary blocks", true},
    {"reallocs", "reallocs", false},
    {"failures", "failed calls", false},
    {"rss_max_bytes", "RSS peak, as the kernel counted", false},
    {"duration_ns", "duration", false},
    {"threads", "threads", false},
    {"events_dropped", "events dropped", false},
    {"complete_share", "complete stacks", true},
};

static bool has_filters(const struct query *query)
{
    return query->options->filter.n_values > 0;
}

static void format_number(const struct summary_numbers *all, const struct summary_number *number,
                          char *text)
{
    double margin = summary_margin(all, number->name);

    if (strcmp(number->unit, "bytes") == 0)
        (void)estimate_format_bytes(number->value, margin, text);
    else if (strcmp(number->unit, "ns") == 0)
        (void)units_format_duration(number->value, text);
    else if (strcmp(number->unit, "share") == 0)
        (void)units_format_share(number->share, text);
    else
        (void)estimate_format_count(number->value, margin, text);
}

static void put_numbers(const struct query *query, int64_t process_id,
                        const struct summary_numbers *all)
{
    (void)fputs("<dl id=\"summary\">\n", query->out);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const struct summary_number *number = summary_numbers_find(all, numbers[i].name);
        char text[ESTIMATE_TEXT_BYTES];

        if (!number || !number->is_known || (has_filters(query) && !numbers[i].is_of_blocks))
            continue;
        if (strcmp(number->name, "events_dropped") == 0 && number->value == 0)
            continue; /* as it should be */
        format_number(all, number, text);
        (void)fprintf(query->out, "<div><dt>%s</dt><dd data-name=\"%s\">",
                      numbers[i].title ? numbers[i].title : headline_leaked(query, process_id),
                      numbers[i].name);
        svg_put_text(query->out, text);
        (void)fputs("</dd></div>\n", query->out);
    }
    (void)fputs("</dl>\n", query->out);
}

static void put_note(const struct query *query, const char *text)
{
    (void)fputs("<p class=\"note\">", query->out);
    svg_put_text(query->out, text);
    (void)fputs("</p>\n", query->out);
}

/* ---- findings ---- */

/* The section of the page with the rows of the finding's command; NULL: there is none. */
static const struct part *find_part(const struct finding *finding)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (finding_is_about(finding, parts[i].id))
            return &parts[i];
    return NULL;
}

static void put_finding(const struct query *query, const struct finding *finding)
{
    const struct part *part = find_part(finding);
    const char *severity = finding_severity_name(finding->severity);
    char *command = finding_command(query, finding);

    (void)fprintf(query->out, "<li class=\"%s\"><strong>%s</strong> <span>", severity, severity);
    svg_put_text(query->out, finding->sentence);
    (void)fputs("</span>", query->out);
    if (part)
        (void)fprintf(query->out, " <a href=\"#part-%s\">%s</a>", part->id, part->title);
    (void)fputs("<br><code>", query->out);
    svg_put_text(query->out, command ? command : "");
    (void)fputs("</code></li>\n", query->out);
    free(command);
}

/* Findings are about the whole process, so a page of filtered blocks has none. */
static int put_findings(const struct query *query, int64_t process_id,
                        const struct summary_numbers *all, struct error *err)
{
    struct findings findings;
    int rc;

    if (has_filters(query))
        return 0;
    rc = findings_collect(query, process_id, all, &findings, err);
    if (rc != 0 || findings.n == 0)
        return rc;
    (void)fputs("<section id=\"findings\"><h2>What to look at</h2>\n<ol>\n", query->out);
    for (size_t i = 0; i < findings.n; i++)
        put_finding(query, &findings.list[i]);
    (void)fputs("</ol></section>\n", query->out);
    return 0;
}

/* ---- charts ---- */

/* An empty picture must not prevent the page. */
static int put_chart(const struct query *query, const char *title, int rc, struct error *err)
{
    if (rc == ERROR_NOT_FOUND || rc == ERROR_LEFT_OUT || rc == ERROR_LEFT_OUT_ROWS) {
        (void)fprintf(query->out, "<p class=\"soft\">%s: ", title);
        svg_put_text(query->out, err->text);
        (void)fputs("</p>\n", query->out);
        *err = (struct error){0};
        rc = 0;
    }
    return rc;
}

static int put_charts(const struct query *query, int64_t process_id, struct error *err)
{
    int rc;

    (void)fputs("<section id=\"charts\"><h2>Over time, by size and by lifetime</h2>\n", query->out);
    rc = query_need_rows(query, err);
    if (rc == 0)
        rc = timeline_picture_draw(query, process_id, true, err);
    rc = put_chart(query, "over time", rc, err);
    if (rc == 0)
        rc = put_chart(query, "sizes", cmd_histogram_draw(query, true, true, err), err);
    if (rc == 0)
        rc = put_chart(query, "lifetimes", cmd_histogram_draw(query, false, true, err), err);
    (void)fputs("</section>\n", query->out);
    return rc;
}

/* ---- the page ---- */

static const char *embedded(const char *name)
{
    for (const struct embedded_sql *file = embedded_pictures; file->name; file++) {
        if (strcmp(file->name, name) == 0)
            return file->text;
    }
    return "";
}

static const char flame_controls[] =
    "<section id=\"flame-section\"><h2>Flame graph</h2>\n<div class=\"controls\" id=\"measures\"></div>\n"
    "<div class=\"controls\"><select id=\"unit\" aria-label=\"width is\"><option value=\"0\">bytes</option>"
    "<option value=\"1\">blocks</option></select>\n"
    "<label><input type=\"checkbox\" id=\"inverted\"> innermost functions on top</label>\n"
    "<label><input type=\"checkbox\" id=\"folded\"> collapse recursion</label>\n"
    "<label>leave out less than <input type=\"range\" id=\"least\" min=\"0\" max=\"50\" value=\"1\"> "
    "<span id=\"least-said\">0.1 %</span></label>\n"
    "<input type=\"search\" id=\"search\" placeholder=\"regular expression\" aria-label=\"search\"> "
    "<span id=\"matches\" class=\"soft\"></span>\n<button type=\"button\" id=\"whole\">show all</button></div>\n"
    "<canvas id=\"flames\"></canvas>\n<div id=\"figures\" role=\"status\"></div></section>\n";

static void put_head(const struct query *query, const char *headline)
{
    FILE *out = query->out;

    (void)fputs(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline';"
        " script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        out);
    svg_put_text(out, headline);
    (void)fprintf(out, "</title>\n<style>\n%s", embedded("report_style"));
    chart_put_style(out);
    (void)fputs("</style></head>\n<body>\n<h1>", out);
    svg_put_text(out, headline);
    (void)fputs("</h1>\n<nav><a href=\"#charts\">Charts</a>", out);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        (void)fprintf(out, " <a href=\"#part-%s\">%s</a>", parts[i].id, parts[i].title);
    (void)fputs(" <a href=\"#flame-section\">Flame graph</a></nav>\n", out);
}

static bool is_reported(const struct query *query, const struct part *part)
{
    return !part->is_over_time || !has_filters(query);
}

static void put_section(const struct query *query, const struct part *part)
{
    (void)fprintf(query->out, "<section id=\"part-%s\"", part->id);
    if (is_reported(query, part))
        (void)fprintf(query->out, " data-rows=\"rows-%s\"", part->id);
    (void)fprintf(query->out, "><h2>%s</h2>\n<p class=\"soft\">%s", part->title, part->help);
    if (!is_reported(query, part))
        (void)fprintf(query->out, ": not of what passes a filter; mtrace-query %s takes the same",
                      part->id);
    (void)fputs("</p></section>\n", query->out);
}

static int put_tables(const struct query *query, int64_t process_id, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        put_section(query, &parts[i]);
    (void)fputs(flame_controls, query->out);
    for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        char id[32];

        (void)snprintf(id, sizeof(id), "rows-%s", parts[i].id);
        if (is_reported(query, &parts[i]))
            rc = put_json(query, process_id, id, write_rows, &parts[i], err);
    }
    return rc;
}

static int put_page(const struct query *query, int64_t process_id, struct error *err)
{
    struct summary_numbers all;
    char headline[TITLE_BYTES];
    int rc = headline_format(query, process_id, headline, sizeof(headline), err);

    if (rc == 0)
        rc = summary_numbers_read(query, process_id, &all, err);
    if (rc != 0)
        return rc;
    headline_filters(query, headline + strlen(headline), sizeof(headline) - strlen(headline));
    put_head(query, headline);
    if (has_filters(query))
        put_note(
            query,
            "Figures, charts, tables and flame graphs are of the blocks that pass these filters;"
            " processes are shown whole.");
    rc = notes_of_what_is_missing(query, put_note, err);
    if (rc == 0)
        rc = put_findings(query, process_id, &all, err);
    if (rc == 0)
        put_numbers(query, process_id, &all);
    if (rc == 0)
        rc = put_charts(query, process_id, err);
    if (rc == 0)
        rc = put_tables(query, process_id, err);
    if (rc == 0)
        rc = put_json(query, process_id, "flame", write_flames, NULL, err);
    (void)fprintf(query->out, "<script>\n%s</script>\n</body>\n</html>\n", embedded("report"));
    return rc;
}

/* Fills all tables of the page from the filtered rows. Threads come last, because filters read the
 * table of the file. */
static int make_tables(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    struct filter_sql sql;
    int rc = filter_sql_init(&sql, &query->database, &options->filter, options->process_id, 0, err);

    if (rc == 0)
        rc = class_rows_fill(&query->database, &sql, err);
    if (rc == 0)
        rc = time_rows_fill(&query->database, &(struct time_rows_request){.filter = &sql}, err);
    if (rc == 0)
        rc = thread_rows_fill(&query->database, &sql, err);
    filter_sql_done(&sql);
    return rc;
}

int cmd_report_install(struct query *query, struct error *err)
{
    int rc;

    if (!has_filters(query))
        return query_install_filters(query, err);
    rc = query_need_rows(query, err);
    if (rc == 0)
        rc = query_install_filters(query, err);
    return rc == 0 && !query->options->is_sql_shown ? make_tables(query, err) : rc;
}

static bool is_page(const char *name)
{
    size_t length = name ? strlen(name) : 0;

    return (length > 5 && strcmp(name + length - 5, ".html") == 0)
           || (name && strcmp(name, "/dev/null") == 0);
}

/* The title and texts of a process must concern that process only. */
static int put_process(struct query *query, int64_t process_id, struct error *err)
{
    const struct query_options *asked = query->options;
    struct query_options options = *asked;
    int rc;

    options.process_id = process_id;
    query->options = &options;
    rc = put_page(query, process_id, err);
    query->options = asked;
    return rc;
}

int cmd_report_run(struct query *query, struct error *err)
{
    int64_t process_id = 0;
    int64_t n = 0;
    int rc;

    if (!(is_page(query->output_name) || query->options->is_untrusted)
        || query->style.format != RENDER_TABLE)
        return error_set(
            err, ERROR_USAGE,
            "a report is a page of HTML: name the file it becomes, as output=report.html");
    rc = timeline_picture_process(query, &process_id, err);
    if (rc == 0)
        rc = rundb_get_int64(&query->database, "SELECT count(*) FROM processes", &n, err);
    if (rc == 0 && process_id == 0)
        return error_set(err, ERROR_NOT_FOUND, "'%s' has no process",
                         query->options->database_path);
    if (rc == 0 && n > 1 && !query->options->process_id)
        query_note(
            query,
            "the report is of process %lld, which had most memory, of %lld; process=ID chooses another",
            (long long)process_id, (long long)n);
    return rc == 0 ? put_process(query, process_id, err) : rc;
}
