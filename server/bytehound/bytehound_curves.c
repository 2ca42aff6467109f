/* SPDX-License-Identifier: MIT */
/* Curves over time, as one object of arrays that SQLite makes. Those of allocations have equal
 * parts of the run, sampled at their ends. */
#include "lib/base/error.h"
#include "server/bytehound/bytehound_parts.h"

/* Prints the text that the statement returns. Frees the statement's text. */
static int put_object(const struct bytehound *self, char *sql, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = sql ? rundb_prepare(&self->database, sql, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc == 0)
        rc = rundb_step(&self->database, stmt, err);
    if (rc == 1)
        (void)fprintf(self->out, "%s\n", rundb_text(stmt, 0));
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

#define PART "CAST(at_ns * 1.0 / nullif(r.end_ns, 0) * 1000 AS INTEGER)"

/* The times of the run, then the changes: at_ns, bytes, blocks, allocations, ends. */
static const char curve_sql[] =
    "WITH RECURSIVE r AS MATERIALIZED (SELECT %lld AS start_unix_ns, %lld AS end_ns),"
    " part(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM part WHERE n < 999),"
    " change(at_ns, bytes, blocks, allocations, ends) AS (%s),"
    " summed AS (SELECT max(0, min(999, ifnull(" PART ", 0))) AS n, sum(bytes) AS bytes,"
    " sum(blocks) AS blocks, sum(allocations) AS allocations, sum(ends) AS ends"
    " FROM change, r GROUP BY 1)"
    " SELECT json_object('xs', json_group_array(at_ms), 'size_delta', json_group_array(bytes),"
    " 'count_delta', json_group_array(blocks), 'allocated_size', json_group_array(live_bytes),"
    " 'allocated_count', json_group_array(live_blocks), 'allocations',"
    " json_group_array(allocations), 'deallocations', json_group_array(ends)) FROM"
    " (SELECT (start_unix_ns + CAST(end_ns * (n + 1.0) / 1000 AS INTEGER)) / 1000000 AS at_ms,"
    " ifnull(bytes, 0) AS bytes, ifnull(blocks, 0) AS blocks,"
    " ifnull(sum(bytes) OVER (ORDER BY n), 0) AS live_bytes,"
    " ifnull(sum(blocks) OVER (ORDER BY n), 0) AS live_blocks,"
    " ifnull(allocations, 0) AS allocations, ifnull(ends, 0) AS ends"
    " FROM part LEFT JOIN summed USING (n), r ORDER BY n)";

static int put_curve(const struct bytehound *self, const char *changes, struct error *err)
{
    return put_object(self,
                      sqlite3_mprintf(curve_sql, (long long)self->start_unix_ns,
                                      (long long)self->end_ns, changes),
                      err);
}

int bytehound_timeline(struct bytehound *self, struct error *err)
{
    return put_curve(self,
                     "SELECT max(start_ns, end_ns - 1), live_bytes - lag(live_bytes, 1, 0) OVER w,"
                     " live_blocks - lag(live_blocks, 1, 0) OVER w, allocated_blocks, freed_blocks"
                     " FROM timeline WINDOW w AS (PARTITION BY process_id ORDER BY bucket)",
                     err);
}

/* Leaked blocks only accumulate. Without rows, and for samples, allocation times are known to 1/64
 * of the run. */
int bytehound_timeline_leaked(struct bytehound *self, struct error *err)
{
    bool has_sums_only = self->database.is_slim || self->database.sample_bytes;

    return put_curve(
        self,
        has_sums_only
            ? "SELECT p.start_ns + p.duration_ns * (b.part * 2 + 1) / 128, b.bytes, b.blocks,"
              " b.blocks, 0 FROM leaked_allocations AS b JOIN processes AS p"
              " ON p.process_id = b.process_id"
            : "SELECT alloc_ns, size_bytes, 1, 1, 0 FROM allocation_rows WHERE ended_by = 0",
        err);
}

/* A sample counts everything that was mapped or unmapped up to its time. */
int bytehound_timeline_maps(struct bytehound *self, struct error *err)
{
    return put_object(
        self,
        sqlite3_mprintf(
            "WITH change AS (SELECT mapped_ns AS at_ns, 0 AS is_sample, length AS bytes, NULL AS rss,"
            " NULL AS anonymous FROM mmaps UNION ALL SELECT unmapped_ns, 0, -length, NULL, NULL"
            " FROM mmaps WHERE unmapped_ns IS NOT NULL UNION ALL SELECT at_ns, 1, 0, sum(rss_bytes),"
            " sum(anonymous_bytes) FROM memory_samples GROUP BY at_ns)"
            " SELECT json_object('xs', json_group_array((%lld + at_ns) / 1000000), 'address_space',"
            " json_group_array(mapped), 'rss', json_group_array(rss), 'anonymous',"
            " json_group_array(anonymous), 'dirty', json_group_array(NULL), 'clean',"
            " json_group_array(NULL), 'swap', json_group_array(NULL)) FROM (SELECT * FROM"
            " (SELECT *, sum(bytes) OVER (ORDER BY at_ns, is_sample) AS mapped FROM change)"
            " WHERE is_sample ORDER BY at_ns)",
            (long long)self->start_unix_ns),
        err);
}
