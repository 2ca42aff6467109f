/* SPDX-License-Identifier: MIT */
#include "queries/core/query_open.h"

#include "lib/base/error.h"
#include "lib/base/shell_quote.h"
#include "queries/core/command.h"
#include "queries/core/notes.h"
#include "queries/core/query.h"
#include "queries/db/hidden_paths.h"
#include "queries/db/suppressions.h"
#include "queries/filter/blame.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/filtered_totals.h"
#include "queries/filter/row_feed.h"

#include <string.h>

int query_install_filters(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;

    const struct filtered_totals_request request = {
        .filter = &options->filter,
        .process_id = options->process_id,
        .is_over_time = options->command->is_over_time,
        .is_of_leaks = options->command->is_of_leaks,
        .is_blamed_again = options->blame_past != NULL,
        .has_own_peaks = options->command->has_own_peaks,
        .has_functions = options->command->has_functions,
        .show_sql = options->is_sql_shown ? query->out : NULL};

    return filtered_totals_install(&query->database, &request, err);
}

static int remake(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    const struct command *command = options->command;
    FILE *show_sql = options->is_sql_shown ? query->out : NULL;
    struct filter_sql sql;
    int rc = 0;

    if (options->filter.n_values == 0)
        return 0;
    if (command->stand_in)
        rc = command->stand_in(&query->database, &options->filter, show_sql, err);
    if (rc != 0)
        return rc;
    rc = filter_sql_init(&sql, &query->database, &options->filter, options->process_id, 0, err);
    if (rc == 0 && show_sql)
        rc = filter_sql_show(&sql, row_feed_sql(&sql, 0), "the table below is", show_sql, err);
    else if (rc == 0)
        rc = command->remake(&query->database, &sql, err);
    filter_sql_done(&sql);
    return rc;
}

static int install(struct query *query, struct error *err)
{
    const struct command *command = query->options->command;

    if (command->install)
        return command->install(query, err);
    if (command->remake)
        return remake(query, err);
    return command->filters == COMMAND_FILTERS_ROWS || command->needs_rows
               ? 0
               : query_install_filters(query, err);
}

static bool is_about_rows(const struct query_options *options)
{
    const struct filter_value *instant = filter_instant(&options->filter);

    if (options->command->is_of_mappings)
        return false;
    if (options->command->needs_rows)
        return true;
    if (options->command->has_instant)
        return instant && !instant->is_peak && !instant->is_end;
    if (options->command->remake)
        return options->filter.n_values > 0;
    return filter_scope_of(&options->filter) == FILTER_SCOPE_ROW;
}

/* The only check for rows: in a slim import a query of rows would find nothing. */
int query_need_rows(const struct query *query, struct error *err)
{
    if (query->database.is_early)
        return error_set(
            err, ERROR_NOT_FOUND,
            "'%s' follows a growing log (--follow) and has no rows of single blocks, which this "
            "query needs, until the recording has ended; 'mtrace-import LOG OTHER.db' makes a "
            "database with those so far",
            query->options->database_path);
    if (query->database.is_aggregate)
        return 0; /* with the existing rows (notes_after) */
    if (query->database.is_slim
        && query->options->is_untrusted) /* the client cannot import it again */
        return error_set(err, ERROR_LEFT_OUT_ROWS,
                         "'%s' has totals only, and this query needs rows of single blocks",
                         query->options->database_path);
    if (query->database.is_slim)
        return error_set(err, ERROR_LEFT_OUT_ROWS,
                         "'%s' was imported with --slim or --follow, and this query needs rows of "
                         "single blocks; import the log again without --slim",
                         query->options->database_path);
    return 0;
}

static int check_rows(const struct query *query, struct error *err)
{
    const struct query_options *options = query->options;

    if (options->command->is_kept_unbounded && query->database.is_aggregate)
        return error_set(err, ERROR_LEFT_OUT,
                         "'%s' was recorded with --aggregate, which keeps no phases, pools and "
                         "objects; record without it",
                         query->options->database_path);
    /* an untrusted client is answered from a full database instead of in part */
    return is_about_rows(options) || (options->is_untrusted && options->command->wants_rows)
               ? query_need_rows(query, err)
               : 0;
}

/* Why samples cannot answer the query; NULL: they can. */
static const char *beyond_samples(const struct query *query)
{
    const struct query_options *options = query->options;

    if (options->command->why_unsampled)
        return options->command->why_unsampled;
    if (options->measure && strcmp(options->measure, "temporary") == 0)
        return command_find(query->commands, "temporary")->why_unsampled;
    return filter_beyond_samples(&options->filter);
}

int query_need_every_block(const struct query *query, const char *why, struct error *err)
{
    return query->database.sample_bytes
               ? error_set(err, ERROR_LEFT_OUT,
                           "'%s' was recorded with --sample-bytes, and %s; record without it",
                           query->options->database_path, why)
               : 0;
}

static int check_samples(const struct query *query, struct error *err)
{
    const char *why = beyond_samples(query);

    return why ? query_need_every_block(query, why, err) : 0;
}

static int count(const struct query *query, const char *sql, int64_t value, int64_t *ret_n,
                 int64_t *ret_first, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database, sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, value);
    rc = rundb_step(&query->database, stmt, err);
    *ret_n = sqlite3_column_int64(stmt, 0);
    *ret_first = sqlite3_column_int64(stmt, 1);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* --process takes a process_id or, where no other process had it, a pid. */
static int resolve_process(struct query *query, struct error *err)
{
    const int64_t asked = query->options->process_id;
    int64_t n = 0;
    int64_t process_id = 0;
    int rc = count(query, "SELECT count(*), process_id FROM processes WHERE process_id = ?1", asked,
                   &n, &process_id, err);

    if (rc == 0 && n == 0)
        rc = count(query, "SELECT count(*), process_id FROM processes WHERE pid = ?1", asked, &n,
                   &process_id, err);
    if (rc == 0 && n != 1)
        return error_set(err, ERROR_NOT_FOUND,
                         n ? "'%s' has several processes with pid %lld; mtrace-query processes "
                             "lists their ids"
                           : "'%s' has no process %lld; mtrace-query processes lists them",
                         query->options->database_path, (long long)asked);
    query->resolved = *query->options;
    query->resolved.process_id = process_id;
    query->options = &query->resolved;
    return rc;
}

static int check_site(const struct query *query, struct error *err)
{
    int64_t n = 0;
    int64_t site_id;
    int rc = count(query, "SELECT count(*), call_site_id FROM call_sites WHERE call_site_id = ?1",
                   query->options->site_id, &n, &site_id, err);

    if (rc == 0 && n == 0)
        return error_set(
            err, ERROR_NOT_FOUND,
            "'%s' has no call site %lld; the column site of leaks, peak or hot has them",
            query->options->database_path, (long long)query->options->site_id);
    return rc;
}

static int check_ids(struct query *query, struct error *err)
{
    int rc = query->options->process_id ? resolve_process(query, err) : 0;

    return rc == 0 && query->options->site_id ? check_site(query, err) : rc;
}

/* The options that a proposed command repeats: the file name and --blame-past. */
static void quote_path(struct query *query)
{
    static const char option[] = " --blame-past ";
    char *text = query->shell_path;

    text[0] = '\0';
    shell_quote(query->options->database_path, text, QUERY_SHELL_PATH_BYTES);
    if (!query->options->blame_past || strlen(text) + sizeof(option) > QUERY_SHELL_PATH_BYTES)
        return;
    (void)strcat(text, option);
    shell_quote(query->options->blame_past, text, QUERY_SHELL_PATH_BYTES);
}

static int install_blame(struct query *query, struct error *err)
{
    if (!query->options->blame_past)
        return 0;
    if (query->options->is_sql_shown)
        (void)fprintf(
            query->out,
            "-- In front of backtraces and call_sites stand others here, by --blame-past\n");
    return blame_install(&query->database, query->options->blame_past, err);
}

int query_open(struct query *query, struct error *err)
{
    int64_t n_processes = 0;
    int rc;

    if (!query->options->command
             ->needs_database) /* a database that was named anyway stays closed */
        return 0;
    quote_path(query);
    rc = rundb_open(&query->database, query->options->database_path, query->stop, err);
    if (rc == 0 && query->options->is_confidential)
        rc = hidden_paths_install(&query->database, err);
    if (rc == 0)
        rc = install_blame(query, err);
    if (rc == 0)
        rc = check_ids(query, err);
    if (rc == 0)
        rc = check_rows(query, err);
    if (rc == 0)
        rc = check_samples(query, err);
    if (rc == 0)
        rc = rundb_offer_views(&query->database, err);
    if (rc == 0 && query->options->suppressions_path)
        rc = suppressions_load(&query->database, query->options->suppressions_path, err);
    if (rc == 0 && !query->is_of_notes)
        rc = install(query, err);
    if (rc == 0)
        rc = rundb_lock(&query->database, err);
    if (rc == 0)
        rc = rundb_get_int64(&query->database, "SELECT count(*) FROM processes", &n_processes, err);
    query->style.has_process = n_processes > 1;
    return rc == 0 ? notes_before(query, err) : rc;
}
