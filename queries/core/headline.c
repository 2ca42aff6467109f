/* SPDX-License-Identifier: MIT */
#include "queries/core/headline.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "lib/logfile/log_header.h"
#include "queries/core/notes.h"
#include "queries/core/query.h"
#include "queries/render/shorten.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

enum {
    TEXT_BYTES = 1024
};

/* Of an image that exec replaced, and whose blocks hardly matter. */
static int print_minor(const struct query *query, int64_t process_id, int64_t peak_bytes,
                       struct error *err)
{
    char text[TEXT_BYTES];
    char peak[UNITS_TEXT_BYTES];
    int rc = headline_format(query, process_id, text, sizeof(text), err);

    if (rc != 0)
        return rc;
    headline_print_file(query);
    (void)fprintf(query->out, "%.*s; peak %s: --process %" PRId64 "\n",
                  (int)(strrchr(text, ':') - text), text, units_format_bytes(peak_bytes, peak),
                  process_id);
    return 0;
}

int headline_each_process(struct query *query,
                          int (*what)(struct query *, int64_t process_id, struct error *),
                          struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        &query->database,
        "SELECT process_id, peak_bytes, :process = 0 AND end_kind IS 'exec'"
        " AND 20 * ifnull(peak_bytes, 0) < (SELECT max(peak_bytes) FROM processes) AS is_minor"
        " FROM processes WHERE :process IN (0, process_id)"
        " ORDER BY is_minor, end_kind IS 'exec', process_id",
        &stmt, err);
    int step = 0;

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, query->options->process_id);
    while (rc == 0 && (step = rundb_step(&query->database, stmt, err)) == 1)
        rc = sqlite3_column_int(stmt, 2) ? print_minor(query, sqlite3_column_int64(stmt, 0),
                                                       sqlite3_column_int64(stmt, 1), err)
                                         : what(query, sqlite3_column_int64(stmt, 0), err);
    sqlite3_finalize(stmt);
    return step < 0 ? step : rc;
}

void headline_filters(const struct query *query, char *ret_text, size_t size)
{
    const struct filter *filter = &query->options->filter;

    ret_text[0] = '\0';
    for (size_t i = 0; i < filter->n_values; i++) {
        size_t used = strlen(ret_text);
        (void)snprintf(ret_text + used, size - used, "%s%s %s", i ? ", " : "; ",
                       filter->values[i].parameter->name, filter->values[i].text);
    }
    utf8_clean(ret_text);
}

static void print_line(const struct query *query, const char *text)
{
    (void)fprintf(query->out, "%s\n", text);
}

void headline_print_file(const struct query *query)
{
    char path[PATH_MAX];

    if (query->options->is_untrusted) /* the client does not know the file */
        return;
    (void)snprintf(path, sizeof(path), "%s", query->options->database_path);
    utf8_clean(path);
    (void)fprintf(query->out, "%s  ", path);
}

int headline_notes(const struct query *query, int64_t process_id, struct error *err)
{
    return notes_below_headline(query, process_id, print_line, err);
}

/* Losses are printed right below the headline. */
int headline_print(struct query *query, int64_t process_id, struct error *err)
{
    char text[TEXT_BYTES];
    char filters[TEXT_BYTES];
    int rc = headline_format(query, process_id, text, sizeof(text), err);

    if (rc != 0)
        return rc;
    headline_filters(query, filters, sizeof(filters));
    headline_print_file(query);
    (void)fprintf(query->out, "%s%s\n", text, filters);
    return headline_notes(query, process_id, err);
}

static void format_end(const char *kind, int value, bool is_foreign, char *text, size_t size)
{
    static const char live[] = "\"leaked\" means live at that instant";
    const char *signal_name = sigabbrev_np(value);

    if (is_foreign && (!kind || strcmp(kind, "unknown") == 0))
        (void)snprintf(
            text, size,
            "how it ended was not recorded: \"leaked\" means live at the end of the recording");
    else if (kind && strcmp(kind, "unseen") == 0)
        (void)snprintf(text, size,
                       "the log goes no further, and whether it still runs is not known here: "
                       "its blocks count as live");
    else if (!kind || strcmp(kind, "unknown") == 0)
        (void)snprintf(
            text, size,
            "how it ended is unknown (killed by a signal, or _exit by a raw system call): %s",
            live);
    else if (strcmp(kind, "exit") == 0)
        (void)snprintf(text, size, "exited with status %d", value);
    else if (strcmp(kind, "signal") == 0 && signal_name)
        (void)snprintf(text, size, "killed by SIG%s: %s", signal_name, live);
    else if (strcmp(kind, "signal") == 0)
        (void)snprintf(text, size, "killed by signal %d: %s", value, live);
    else if (strcmp(kind, "exec") == 0)
        (void)snprintf(text, size, "replaced by exec: blocks live at that time are not leaks");
    else if (strcmp(kind, "detached") == 0)
        (void)snprintf(text, size,
                       "went on when the recording was detached: its blocks were live, not leaked");
    else
        (void)snprintf(text, size, "still running: its blocks are live, not leaked");
}

const char *headline_leaked(const struct query *query, int64_t process_id)
{
    struct sqlite3_stmt *stmt;
    struct error ignored;
    bool has_live = false;

    if (filter_instant(&query->options->filter))
        return "live then";
    if (rundb_prepare(&query->database,
                      "SELECT 1 FROM processes WHERE ?1 IN (0, process_id)"
                      " AND end_kind IN ('running', 'detached', 'unseen')",
                      &stmt, &ignored)
        != 0)
        return "leaked";
    sqlite3_bind_int64(stmt, 1, process_id);
    has_live = sqlite3_step(stmt) == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return has_live ? "live" : "leaked";
}

static bool is_of_this_machine(const char *architecture)
{
    char buffer[LOG_HEADER_ARCH_BYTES];
    struct log_header own;
    const char *name;

    log_file_set_machine(&own);
    name = log_header_arch_text(own.arch, own.word_bytes, buffer);
    return name && strcmp(architecture, name) == 0;
}

int headline_format(const struct query *query, int64_t process_id, char *ret_text, size_t size,
                    struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        &query->database,
        "SELECT executable, pid, duration_ns, end_kind, end_value,"
        " EXISTS (SELECT 1 FROM meta WHERE key = 'recorder'), architecture FROM processes "
        "WHERE process_id = :process",
        &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    rc = rundb_step(&query->database, stmt, err);
    ret_text[0] = '\0';
    if (rc == 1) {
        const char *executable = (const char *)sqlite3_column_text(stmt, 0);
        const char *architecture = (const char *)sqlite3_column_text(stmt, 6);
        bool is_other_machine = architecture && !is_of_this_machine(architecture);
        char duration[UNITS_TEXT_BYTES];
        char end[128];

        format_end((const char *)sqlite3_column_text(stmt, 3), sqlite3_column_int(stmt, 4),
                   sqlite3_column_int(stmt, 5) != 0, end, sizeof(end));
        char process[64] = "";
        char who[128] = ""; /* a recording of another tool has no pid */

        if (query->style.has_process)
            (void)snprintf(process, sizeof(process), "process %lld, ", (long long)process_id);
        if (sqlite3_column_int(stmt, 1) > 0)
            (void)snprintf(who, sizeof(who), " (%spid %d%s%.24s)", process,
                           sqlite3_column_int(stmt, 1), is_other_machine ? ", " : "",
                           is_other_machine ? architecture : "");
        (void)snprintf(ret_text, size, "%s%s, %s, %s", executable ? shorten_path(executable) : "?",
                       who, units_format_duration(sqlite3_column_int64(stmt, 2), duration), end);
        utf8_clean(ret_text);
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}
