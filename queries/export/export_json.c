/* SPDX-License-Identifier: MIT */
/*
 * json: one object whose members are tables, row by row: the recording, its code and stacks, and
 * the allocations that pass the filters.
 */
#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/export/export_job.h"
#include "queries/export/export_json_rows.h"
#include "queries/render/compressed_stream.h"

#include <errno.h>

static const struct member {
    const char *name;
    const char *sql;
} members[] = {
    {"meta", "SELECT key, value FROM meta"},
    {"processes", "SELECT * FROM processes"},
    {"threads", "SELECT * FROM threads"},
    {"modules",
     "SELECT m.process_id, m.load_address, m.size_bytes, m.seen_ns, m.unloaded_ns,"
     " o.object_id, coalesce(m.mapped_path, o.path) AS path, o.build_id FROM modules AS m JOIN objects AS o"
     " ON o.object_id = m.object_id"},
    {"frames",
     "SELECT l.frame_id, l.inline_level, f.name AS function, s.path AS source, l.line,"
     " l.column_number, r.object_id, r.object_offset FROM frame_lines AS l"
     " JOIN frames AS r ON r.frame_id = l.frame_id"
     " LEFT JOIN functions AS f ON f.function_id = l.function_id"
     " LEFT JOIN sources AS s ON s.source_id = l.source_id ORDER BY l.frame_id, l.inline_level"},
    {"mmaps", "SELECT * FROM mmaps"},
    {"mallopts", "SELECT * FROM mallopts"},
    {"allocation_failures", "SELECT f.*, k.name AS kind_name FROM allocation_failures AS f"
                            " LEFT JOIN kinds AS k ON k.kind = f.kind ORDER BY f.failure_id"},
    {"memory_samples", "SELECT * FROM memory_samples ORDER BY process_id, at_ns"},
    {"timeline", "SELECT * FROM timeline ORDER BY process_id, bucket"},
    {"heaps", "SELECT * FROM heaps"},
    {"markers", "SELECT * FROM markers"},
    {"allocation_groups", "SELECT * FROM allocation_groups"},
    {"allocation_group_tags", "SELECT * FROM allocation_group_tags"},
    {"phases", "SELECT * FROM phases"},
    {"phase_totals", "SELECT * FROM phase_totals"},
    {"backtraces", "SELECT backtrace_id, parent_backtrace_id, frame_id, call_site_id, status"
                   " FROM backtraces ORDER BY backtrace_id"},
};

static int put_rows(const struct export_job *job, FILE *out, struct sqlite3_stmt *stmt,
                    const char *name, struct error *err)
{
    const struct render_style style = {.format = RENDER_JSON};

    if (query_show_sql(job->query, stmt))
        return 0;
    (void)fprintf(out, "%s\"%s\":", name == members[0].name ? "{" : ",", name);
    return render_statement(&job->query->database, stmt, &style, -1, out, NULL, err);
}

static int put_member(const struct export_job *job, FILE *out, const struct member *member,
                      struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&job->query->database, member->sql, &stmt, err);

    if (rc != 0)
        return rc;
    rc = put_rows(job, out, stmt, member->name, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int put_allocations(const struct export_job *job, FILE *out, struct error *err)
{
    if (!job->query->options->is_sql_shown)
        (void)fputs(",\"allocations\":", out);
    return export_json_rows_put(job, out, err);
}

/* Compressed if the file name has such a suffix. */
int export_json_run(struct export_job *job, struct error *err)
{
    FILE *out =
        compressed_stream_open(job->out, compressed_stream_kind_of(job->query->output_name));
    int rc = out ? 0 : error_set(err, ERROR_NOMEM, "no memory to write json");

    for (size_t i = 0; rc == 0 && i < sizeof(members) / sizeof(members[0]); i++)
        rc = put_member(job, out, &members[i], err);
    if (rc == 0)
        rc = put_allocations(job, out, err);
    if (rc == 0 && !job->query->options->is_sql_shown)
        (void)fputs("}\n", out);
    if (out && fclose(out) != 0 && rc == 0)
        rc = export_job_write_error(job, errno, err);
    return rc;
}
