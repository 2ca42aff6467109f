/* SPDX-License-Identifier: MIT */
/* The list of recordings, and curves over time: equal parts of the run, sampled at their ends. */
#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/core/recordings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_PARTS = 1000
};

/* Changes in each part. */
struct part {
    int64_t bytes, blocks, allocations, ends;
};

/* ---- /list ---- */

static const char list_sql[] =
    "SELECT p.executable, CASE WHEN json_valid(p.command_line) THEN"
    " (SELECT group_concat(value, ' ') FROM json_each(p.command_line)) END, (SELECT value FROM meta WHERE key = 'arch'),"
    " (SELECT sum(leaked_bytes) FROM main.backtrace_totals),"
    " (SELECT sum(leaked_blocks) FROM main.backtrace_totals),"
    " (SELECT count(DISTINCT backtrace_id) FROM main.backtrace_totals), (SELECT max(b.depth)"
    " FROM main.backtrace_totals AS g JOIN backtraces AS b ON b.backtrace_id = g.backtrace_id)"
    " FROM processes AS p ORDER BY p.process_id LIMIT 1";

int bytehound_put_list_item(struct bytehound *self, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&self->database, list_sql, &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(&self->database, stmt, err);
    if (rc == 1) {
        (void)fprintf(self->out, "{\"id\":\"%s\",\"executable\":", self->recording->id);
        json_text_put(self->out, (const char *)sqlite3_column_text(stmt, 0));
        (void)fputs(",\"cmdline\":", self->out);
        json_text_put(self->out, (const char *)sqlite3_column_text(stmt, 1));
        (void)fputs(",\"architecture\":", self->out);
        json_text_put(self->out, (const char *)sqlite3_column_text(stmt, 2));
        (void)fprintf(
            self->out,
            ",\"final_allocated\":%lld,\"final_allocated_count\":%lld,"
            "\"unique_backtrace_count\":%lld,\"maximum_backtrace_depth\":%lld,",
            (long long)sqlite3_column_int64(stmt, 3), (long long)sqlite3_column_int64(stmt, 4),
            (long long)sqlite3_column_int64(stmt, 5), (long long)sqlite3_column_int64(stmt, 6));
        bytehound_put_timeval(self, "runtime", self->end_ns);
        (void)fputc(',', self->out);
        bytehound_put_timeval(self, "timestamp", self->start_unix_ns);
        (void)fputc('}', self->out);
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* ---- curves ---- */

static size_t part_of(const struct bytehound *self, int64_t at_ns)
{
    double share = self->end_ns > 0 ? (double)at_ns / (double)self->end_ns : 0;
    double part = share * N_PARTS;

    return part <= 0 ? 0 : part >= N_PARTS ? N_PARTS - 1 : (size_t)part;
}

static uint64_t end_of_part_ms(const struct bytehound *self, size_t part)
{
    double at_ns = (double)self->end_ns * (double)(part + 1) / N_PARTS;

    return (uint64_t)(self->start_unix_ns + (int64_t)at_ns) / 1000000;
}

static void put_column(const struct bytehound *self, const char *name, const int64_t *values)
{
    (void)fprintf(self->out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < N_PARTS; i++)
        (void)fprintf(self->out, "%s%" PRId64, i > 0 ? "," : "", values[i]);
    (void)fputc(']', self->out);
}

static void put_xs(const struct bytehound *self)
{
    (void)fputs("{\"xs\":[", self->out);
    for (size_t i = 0; i < N_PARTS; i++)
        (void)fprintf(self->out, "%s%" PRIu64, i > 0 ? "," : "", end_of_part_ms(self, i));
    (void)fputc(']', self->out);
}

static void put_parts(const struct bytehound *self, const struct part *parts)
{
    static const char *const names[] = {"size_delta",      "count_delta", "allocated_size",
                                        "allocated_count", "allocations", "deallocations"};
    int64_t values[6][N_PARTS];
    int64_t bytes = 0;
    int64_t blocks = 0;

    for (size_t i = 0; i < N_PARTS; i++) {
        saturating_grow(&bytes, parts[i].bytes);
        saturating_grow(&blocks, parts[i].blocks);
        values[0][i] = parts[i].bytes;
        values[1][i] = parts[i].blocks;
        values[2][i] = bytes;
        values[3][i] = blocks;
        values[4][i] = parts[i].allocations;
        values[5][i] = parts[i].ends;
    }
    put_xs(self);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        put_column(self, names[i], values[i]);
    (void)fputs("}\n", self->out);
}

/* Rows of process, time, bytes, blocks, allocations, frees; if is_level, levels become changes. */
static int take_rows(const struct bytehound *self, const char *sql, bool is_level,
                     struct part *parts, struct error *err)
{
    struct sqlite3_stmt *stmt;
    struct part level = {0};
    int64_t process = -1;
    int rc = rundb_prepare(&self->database, sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&self->database, stmt, err)) == 1) {
        struct part *part = &parts[part_of(self, sqlite3_column_int64(stmt, 1))];
        int64_t bytes = sqlite3_column_int64(stmt, 2);
        int64_t blocks = sqlite3_column_int64(stmt, 3);

        if (process != sqlite3_column_int64(stmt, 0))
            level = (struct part){0};
        process = sqlite3_column_int64(stmt, 0);
        saturating_grow(&part->bytes, is_level ? saturating_subtract(bytes, level.bytes) : bytes);
        saturating_grow(&part->blocks,
                        is_level ? saturating_subtract(blocks, level.blocks) : blocks);
        saturating_grow(&part->allocations, sqlite3_column_int64(stmt, 4));
        saturating_grow(&part->ends, sqlite3_column_int64(stmt, 5));
        level.bytes = bytes;
        level.blocks = blocks;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int put_curve(const struct bytehound *self, const char *sql, bool is_level,
                     struct error *err)
{
    struct part *parts = calloc(N_PARTS, sizeof(*parts));
    int rc = parts ? take_rows(self, sql, is_level, parts, err)
                   : error_set(err, ERROR_NOMEM, "no memory for a timeline");

    if (rc == 0)
        put_parts(self, parts);
    free(parts);
    return rc;
}

int bytehound_timeline(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return put_curve(self,
                     "SELECT process_id, max(start_ns, end_ns - 1), live_bytes, live_blocks,"
                     " allocated_blocks, freed_blocks FROM timeline ORDER BY process_id, bucket",
                     true, err);
}

/* Leaked blocks only accumulate. Without rows, and for samples, allocation times are known to 1/64
 * of the run. */
int bytehound_timeline_leaked(struct bytehound *self, const char *rest, struct error *err)
{
    bool has_sums_only = self->database.is_slim || self->database.sample_bytes;

    (void)rest;
    return put_curve(
        self,
        has_sums_only
            ? "SELECT b.process_id, p.start_ns + p.duration_ns * (b.part * 2 + 1) / 128, sum(b.bytes),"
              " sum(b.blocks), sum(b.blocks), 0 FROM leaked_allocations AS b"
              " JOIN processes AS p ON p.process_id = b.process_id GROUP BY b.process_id, b.part"
            : "SELECT 0, alloc_ns, size_bytes, 1, 1, 0 FROM allocation_rows WHERE ended_by = 0",
        false, err);
}

/* ---- memory seen from outside ---- */

struct memory {
    struct sqlite3_stmt *samples;
    struct sqlite3_stmt *mappings;
    int64_t mapped_bytes; /* by the calls up to now */
    bool has_mapping;     /* the current row is not counted yet */
    bool has_begun;
};

static const char samples_sql[] =
    "SELECT at_ns, sum(rss_bytes), sum(anonymous_bytes) FROM memory_samples"
    " GROUP BY at_ns ORDER BY at_ns";

static const char mappings_sql[] =
    "SELECT mapped_ns AS at_ns, length FROM mmaps UNION ALL"
    " SELECT unmapped_ns, -length FROM mmaps WHERE unmapped_ns IS NOT NULL ORDER BY at_ns";

/* Counts everything that was mapped or unmapped up to a time. */
static int take_mappings(const struct bytehound *self, struct memory *memory, int64_t at_ns,
                         struct error *err)
{
    int rc = 1;

    if (!memory->has_begun) {
        memory->has_begun = true;
        rc = rundb_step(&self->database, memory->mappings, err);
        memory->has_mapping = rc == 1;
    }
    while (memory->has_mapping && sqlite3_column_int64(memory->mappings, 0) <= at_ns) {
        saturating_grow(&memory->mapped_bytes, sqlite3_column_int64(memory->mappings, 1));
        rc = rundb_step(&self->database, memory->mappings, err);
        memory->has_mapping = rc == 1;
    }
    return rc < 0 ? rc : 0;
}

static int put_memory_column(const struct bytehound *self, const char *name, int column,
                             struct memory *memory, struct error *err)
{
    const char *separator = "";
    int rc;

    (void)fprintf(self->out, "%s\"%s\":[", column == 0 ? "{" : ",\n", name);
    sqlite3_reset(memory->samples);
    while ((rc = rundb_step(&self->database, memory->samples, err)) == 1) {
        int64_t at_ns = sqlite3_column_int64(memory->samples, 0);
        int64_t value = sqlite3_column_int64(memory->samples, column > 0 ? column : 0);

        if (column < 0)
            rc = take_mappings(self, memory, at_ns, err);
        if (rc < 0)
            break;
        if (column == 0)
            value = (saturating_add(self->start_unix_ns, at_ns)) / 1000000;
        (void)fprintf(self->out, "%s%" PRId64, separator,
                      column < 0 ? memory->mapped_bytes : value);
        separator = ",";
    }
    (void)fputc(']', self->out);
    return rc < 0 ? rc : 0;
}

/* One "null" per sample: this was not recorded. */
static int put_unknown(const struct bytehound *self, const char *name, struct memory *memory,
                       struct error *err)
{
    const char *separator = "";
    int rc;

    (void)fprintf(self->out, ",\n\"%s\":[", name);
    sqlite3_reset(memory->samples);
    while ((rc = rundb_step(&self->database, memory->samples, err)) == 1) {
        (void)fprintf(self->out, "%snull", separator);
        separator = ",";
    }
    (void)fputc(']', self->out);
    return rc;
}

static int put_memory(const struct bytehound *self, struct memory *memory, struct error *err)
{
    int rc = put_memory_column(self, "xs", 0, memory, err);

    if (rc == 0)
        rc = put_memory_column(self, "address_space", -1, memory, err);
    if (rc == 0)
        rc = put_memory_column(self, "rss", 1, memory, err);
    if (rc == 0)
        rc = put_memory_column(self, "anonymous", 2, memory, err);
    if (rc == 0)
        rc = put_unknown(self, "dirty", memory, err);
    if (rc == 0)
        rc = put_unknown(self, "clean", memory, err);
    if (rc == 0)
        rc = put_unknown(self, "swap", memory, err);
    (void)fputs("}\n", self->out);
    return rc;
}

int bytehound_timeline_maps(struct bytehound *self, const char *rest, struct error *err)
{
    struct memory memory = {0};
    int rc = rundb_prepare(&self->database, samples_sql, &memory.samples, err);

    (void)rest;
    if (rc == 0)
        rc = rundb_prepare(&self->database, mappings_sql, &memory.mappings, err);
    if (rc == 0)
        rc = put_memory(self, &memory, err);
    sqlite3_finalize(memory.samples);
    sqlite3_finalize(memory.mappings);
    return rc;
}
