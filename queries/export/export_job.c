/* SPDX-License-Identifier: MIT */
#include "queries/export/export_job.h"

#include "lib/base/error.h"
#include "lib/base/utf8.h"
#include "queries/core/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int export_job_write_error(const struct export_job *job, int os_errno, struct error *err)
{
    return error_set_errno(err, os_errno ? os_errno : EIO, "cannot write '%s'",
                           job->query->output_name ? job->query->output_name : "stdout");
}

static char *copy_text(struct sqlite3_stmt *row, int column)
{
    char *copy = strdup(rundb_text(row, column));

    if (copy)
        utf8_clean(copy);
    return copy;
}

int export_job_read_process(struct export_job *job, struct error *err)
{
    const struct rundb *database = &job->query->database;
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database,
                           "SELECT pid, start_unix_ns, start_ns, end_ns, executable,"
                           " (SELECT group_concat(value, ' ') FROM json_each(command_line)),"
                           " ifnull(peak_ns, start_ns)"
                           " FROM processes WHERE ?1 IN (0, process_id) ORDER BY process_id",
                           &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, job->process_id);
    rc = rundb_step(database, stmt, err);
    if (rc == 1) {
        job->pid = sqlite3_column_int64(stmt, 0);
        job->start_unix_ns = sqlite3_column_int64(stmt, 1);
        job->start_ns = sqlite3_column_int64(stmt, 2);
        job->end_ns = sqlite3_column_int64(stmt, 3);
        job->peak_ns = sqlite3_column_int64(stmt, 6);
        job->executable = copy_text(stmt, 4);
        job->command_line = copy_text(stmt, 5);
        rc = job->executable && job->command_line ? 0 : error_set(err, ERROR_NOMEM, "no memory");
    } else if (rc == 0) {
        rc = error_set(err, ERROR_NOT_FOUND, "'%s' has no process %lld",
                       job->query->options->database_path, (long long)job->process_id);
    }
    sqlite3_finalize(stmt);
    return rc;
}

int export_job_load_addresses(const struct export_job *job, int64_t **ret_addresses, int64_t *ret_n,
                              struct error *err)
{
    const struct rundb *database = &job->query->database;
    struct sqlite3_stmt *stmt;
    size_t n = 0;
    int64_t *addresses;
    int rc = database_ids(database->handle, "objects", "object_id", &n, err);

    *ret_addresses = NULL;
    *ret_n = (int64_t)n;
    if (rc != 0)
        return rc;
    addresses = calloc(n, sizeof(*addresses));
    if (!addresses)
        return error_set(err, ERROR_NOMEM, "no memory for %zu modules", n);
    *ret_addresses = addresses;
    rc = rundb_prepare(database,
                       "SELECT object_id, min(load_address) FROM modules"
                       " WHERE process_id = ?1 AND object_id > 0 GROUP BY object_id",
                       &stmt, err);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, job->process_id);
    while ((rc = rundb_step(database, stmt, err)) == 1) {
        addresses[database_id(stmt, 0, n)] = sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- totals by stack ---- */

/* backtrace_totals is the filtered table in front of the file's, where there are filters. */
static const char totals_sql[] =
    "SELECT t.backtrace_id, sum(t.allocated_blocks), sum(t.allocated_bytes), sum(t.leaked_blocks),"
    " sum(t.leaked_bytes), sum(t.peak_blocks), sum(t.peak_bytes), sum(t.temporary_blocks),"
    " sum(t.temporary_bytes) FROM backtrace_totals AS t"
    " WHERE :process IN (0, t.process_id) AND (:site = 0 OR t.backtrace_id IN"
    " (SELECT b.backtrace_id FROM backtraces AS b WHERE b.call_site_id = :site))"
    " GROUP BY t.backtrace_id ORDER BY t.backtrace_id";

int export_totals_open(struct export_totals *totals, const struct export_job *job,
                       struct error *err)
{
    const struct query_options *options = job->query->options;
    int rc;

    *totals =
        (struct export_totals){.job = job, .has_instant = filter_instant(&options->filter) != NULL};
    rc = rundb_prepare(&job->query->database, totals_sql, &totals->stmt, err);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(totals->stmt, sqlite3_bind_parameter_index(totals->stmt, ":process"),
                       job->process_id);
    sqlite3_bind_int64(totals->stmt, sqlite3_bind_parameter_index(totals->stmt, ":site"),
                       options->site_id);
    return 0;
}

void export_totals_close(struct export_totals *totals)
{
    sqlite3_finalize(totals->stmt);
}

int export_totals_next(struct export_totals *totals, struct export_stack_totals *ret_stack,
                       struct error *err)
{
    int rc = rundb_step(&totals->job->query->database, totals->stmt, err);

    if (rc != 1)
        return rc;
    ret_stack->backtrace_id = sqlite3_column_int64(totals->stmt, 0);
    for (int i = 0; i < EXPORT_TOTALS; i++)
        ret_stack->totals[i] = sqlite3_column_int64(totals->stmt, i + 1);
    if (totals->has_instant) {
        ret_stack->totals[EXPORT_LIVE_BLOCKS] = ret_stack->totals[EXPORT_ALLOCATED_BLOCKS];
        ret_stack->totals[EXPORT_LIVE_BYTES] = ret_stack->totals[EXPORT_ALLOCATED_BYTES];
    }
    return 1;
}
