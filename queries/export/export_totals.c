/* SPDX-License-Identifier: MIT */
#include "queries/export/export_totals.h"

#include "queries/core/query.h"
#include "queries/export/export_job.h"

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
