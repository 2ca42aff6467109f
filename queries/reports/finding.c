/* SPDX-License-Identifier: MIT */
#include "queries/reports/finding.h"

#include "lib/base/error.h"
#include "lib/base/utf8.h"
#include "queries/core/query.h"
#include "queries/render/shorten.h"
#include "queries/reports/summary_numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_BYTES = 160 /* of a function in a sentence */
};

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"critical", "warning", "info"};

    return names[severity];
}

int64_t finding_number(const struct finding_run *run, const char *name)
{
    return summary_number(run->numbers, name);
}

double finding_share_of_peak(const struct finding_run *run, int64_t bytes)
{
    return run->peak_bytes > 0 ? (double)bytes / (double)run->peak_bytes : 0;
}

enum finding_severity finding_growth_severity(const struct finding_run *run, int64_t bytes)
{
    if (bytes >= FINDING_MIB && bytes > run->peak_bytes / 20)
        return FINDING_CRITICAL;
    return bytes >= 64 * FINDING_KIB && bytes > run->peak_bytes / 100 ? FINDING_WARNING
                                                                      : FINDING_INFO;
}

bool finding_has_exited(const struct finding_run *run)
{
    return strcmp(summary_text(run->numbers, "end_kind"), "exit") == 0;
}

void finding_begin(struct finding *finding, enum finding_severity severity, double cost,
                   int64_t bytes, int64_t blocks)
{
    *finding =
        (struct finding){.severity = severity, .cost = cost, .bytes = bytes, .blocks = blocks};
}

struct finding *finding_add(const struct finding_run *run, enum finding_severity severity,
                            double cost, int64_t bytes, int64_t blocks)
{
    struct findings *findings = run->findings;
    /* When the list is full, the last one is replaced. */
    struct finding *finding =
        &findings->list[findings->n < FINDINGS_CAPACITY ? findings->n++ : FINDINGS_CAPACITY - 1];

    finding_begin(finding, severity, cost, bytes, blocks);
    return finding;
}

void finding_append(struct finding *finding, const char *format, ...)
{
    size_t used = strlen(finding->sentence);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(finding->sentence + used, sizeof(finding->sentence) - used, format, arguments);
    va_end(arguments);
}

void finding_lead(const struct finding_run *run, struct finding *finding, const char *command,
                  const char *page, int64_t site_id)
{
    char site[48] = "";

    (void)snprintf(finding->command, sizeof(finding->command), "%s", command);
    if (site_id > 0)
        (void)snprintf(finding->options, sizeof(finding->options), "--site %" PRId64, site_id);
    if (site_id > 0)
        (void)snprintf(site, sizeof(site), "&site=%" PRId64, site_id);
    (void)snprintf(finding->page, sizeof(finding->page), "%s%sprocess=%" PRId64 "%s",
                   page ? page : command, page && strchr(page, '?') ? "&" : "?", run->process_id,
                   site);
    if (run->query->style.has_process) {
        size_t used = strlen(finding->options);

        (void)snprintf(finding->options + used, sizeof(finding->options) - used,
                       "%s--process %" PRId64, used ? " " : "", run->process_id);
    }
}

void finding_show_sql(const struct finding_run *run, struct finding *finding, const char *view,
                      const char *format, ...)
{
    va_list arguments;
    size_t used;

    (void)snprintf(finding->sql, sizeof(finding->sql),
                   "SELECT * FROM %s WHERE process_id = %" PRId64, view, run->process_id);
    if (!format)
        return;
    used = strlen(finding->sql);
    va_start(arguments, format);
    (void)vsnprintf(finding->sql + used, sizeof(finding->sql) - used, format, arguments);
    va_end(arguments);
}

void finding_lead_to_view(const struct finding_run *run, struct finding *finding,
                          const char *command)
{
    char view[sizeof(finding->command)];

    (void)snprintf(view, sizeof(view), "%s", command);
    for (char *at = view; *at; at++)
        *at = *at == '-' ? '_' : *at;
    finding_lead(run, finding, command, NULL, 0);
    finding_show_sql(run, finding, view, NULL);
}

char *finding_command(const struct query *query, const struct finding *finding)
{
    char *text = NULL;

    if (asprintf(&text, "mtrace-query %s %s%s%s", finding->command,
                 query->options->is_untrusted ? "run.db" : query->shell_path,
                 *finding->options ? " " : "", finding->options)
        < 0)
        return NULL;
    utf8_clean(text);
    return text;
}

bool finding_is_about(const struct finding *finding, const char *command)
{
    return strncmp(finding->command, command, strlen(command)) == 0;
}

void finding_format_place(struct sqlite3_stmt *row, int column, char ret_text[FINDING_PLACE_BYTES])
{
    const char *function = rundb_text(row, column);
    const char *source = shorten_path(rundb_text(row, column + 1));
    const char *module = shorten_path(rundb_text(row, column + 3));
    char name[NAME_BYTES];

    shorten_function(function, name, sizeof(name));
    if (*source && sqlite3_column_type(row, column + 2) != SQLITE_NULL)
        (void)snprintf(ret_text, FINDING_PLACE_BYTES, "%s%s%.60s:%d%s", name, *name ? " (" : "",
                       source, sqlite3_column_int(row, column + 2), *name ? ")" : "");
    else if (*name && *module && strncmp(name, module, strlen(module)) != 0)
        (void)snprintf(ret_text, FINDING_PLACE_BYTES, "%s (%.60s)", name, module);
    else
        (void)snprintf(ret_text, FINDING_PLACE_BYTES, "%s",
                       *name     ? name
                       : *module ? module
                                 : "an unknown function");
    utf8_clean(ret_text);
}

void finding_format_label(const char *label, char ret_text[FINDING_PLACE_BYTES])
{
    const char *path = strrchr(label, ' ');
    char function[1024];
    char name[NAME_BYTES];

    (void)snprintf(function, sizeof(function), "%.*s", path ? (int)(path - label) : 0, label);
    shorten_function(function, name, sizeof(name));
    (void)snprintf(ret_text, FINDING_PLACE_BYTES, "%s%s%.60s%s", name, *name ? " (" : "",
                   shorten_path(path ? path + 1 : label), *name ? ")" : "");
    utf8_clean(ret_text);
}

int finding_prepare(const struct finding_run *run, const char *sql, struct sqlite3_stmt **ret_stmt,
                    struct error *err)
{
    int rc = rundb_prepare(&run->query->database, sql, ret_stmt, err);

    if (rc == 0)
        sqlite3_bind_int64(*ret_stmt, 1, run->process_id);
    return rc;
}

int finding_first_row(const struct finding_run *run, const char *sql,
                      struct sqlite3_stmt **ret_stmt, struct error *err)
{
    int rc = finding_prepare(run, sql, ret_stmt, err);

    if (rc == 0)
        rc = rundb_step(&run->query->database, *ret_stmt, err);
    if (rc != 1)
        sqlite3_finalize(*ret_stmt);
    return rc;
}
