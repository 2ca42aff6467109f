/* SPDX-License-Identifier: MIT */
/* Mappings: one per call of mmap; its pieces are the regions. */
#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/bytehound/bytehound_stacks.h"
#include "server/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char map_columns[] =
    "m.mmap_call_id AS id, min(m.address) AS address, sum(m.length) AS length,"
    " min(m.mapped_ns) AS mapped_ns,"
    " CASE WHEN count(m.unmapped_ns) = count(*) THEN max(m.unmapped_ns) END AS unmapped_ns,"
    " max(m.backtrace_id) AS backtrace_id, max(m.thread_id) AS thread_id,"
    " max(m.unmap_backtrace_id) AS unmap_backtrace_id, max(m.unmap_thread_id) AS unmap_thread_id,"
    " ifnull(max(m.prot), 0) AS prot, ifnull(max(m.flags), 0) AS flags, max(m.path) AS path,"
    " max(m.peak_rss_bytes) AS peak_rss_bytes";

enum column {
    COLUMN_ID,
    COLUMN_ADDRESS,
    COLUMN_LENGTH,
    COLUMN_MAPPED,
    COLUMN_UNMAPPED,
    COLUMN_BACKTRACE,
    COLUMN_THREAD,
    COLUMN_UNMAP_BACKTRACE,
    COLUMN_UNMAP_THREAD,
    COLUMN_PROT,
    COLUMN_FLAGS,
    COLUMN_PATH,
    COLUMN_PEAK_RSS,
};

struct maps {
    struct bytehound *self;
    struct bytehound_stacks stacks;
    struct bytehound_filter filter;
    struct sqlite3_stmt *regions;
    bool has_regions, has_usage;
};

static const char *flag(int64_t bits, int64_t bit)
{
    return bits & bit ? "true" : "false";
}

static void put_flags(const struct bytehound *self, int64_t prot, int64_t flags)
{
    (void)fprintf(self->out,
                  ",\"is_readable\":%s,\"is_writable\":%s,\"is_executable\":%s,\"is_shared\":%s",
                  flag(prot, PROT_READ), flag(prot, PROT_WRITE), flag(prot, PROT_EXEC),
                  flag(flags, MAP_SHARED));
}

/* Where it was mapped or unmapped; null if it was mapped before the recording. */
static void put_source(const struct maps *maps, int64_t at_ns, struct sqlite3_stmt *row,
                       int thread_column, int backtrace_column)
{
    const struct bytehound *self = maps->self;
    int64_t backtrace = sqlite3_column_int64(row, backtrace_column);

    (void)fputs("\"source\":", self->out);
    if (!backtrace) {
        (void)fputs("null", self->out);
        return;
    }
    (void)fputc('{', self->out);
    bytehound_put_times(self, "timestamp", at_ns);
    (void)fprintf(self->out, ",\"thread\":%lld,\"backtrace_id\":%" PRId64 ",\"backtrace\":",
                  (long long)sqlite3_column_int64(row, thread_column), backtrace);
    bytehound_stacks_put(&maps->stacks, self, backtrace);
    (void)fputc('}', self->out);
}

static void put_deallocation(const struct maps *maps, struct sqlite3_stmt *row)
{
    const struct bytehound *self = maps->self;
    int64_t at_ns = sqlite3_column_int64(row, COLUMN_UNMAPPED);

    if (sqlite3_column_type(row, COLUMN_UNMAPPED) == SQLITE_NULL) {
        (void)fputs(",\"deallocation\":null", self->out);
        return;
    }
    (void)fputs(",\"deallocation\":{", self->out);
    bytehound_put_times(self, "timestamp", at_ns);
    (void)fputc(',', self->out);
    put_source(maps, at_ns, row, COLUMN_UNMAP_THREAD, COLUMN_UNMAP_BACKTRACE);
    (void)fputc('}', self->out);
}

static void put_name(const struct bytehound *self, struct sqlite3_stmt *row, int column)
{
    (void)fputs(",\"name\":", self->out);
    json_text_put(self->out, (const char *)sqlite3_column_text(row, column));
}

/* address, length, mapped_ns, unmapped_ns, prot, flags, file_offset, path */
static const char regions_sql[] =
    "SELECT address, length, mapped_ns, unmapped_ns, prot, flags, file_offset, path"
    " FROM mmaps WHERE mmap_call_id = ?1 ORDER BY address, mapped_ns";

static void put_region(const struct bytehound *self, struct sqlite3_stmt *row)
{
    (void)fputc('{', self->out);
    bytehound_put_address(self, "address", (uint64_t)sqlite3_column_int64(row, 0));
    (void)fputc(',', self->out);
    bytehound_put_times(self, "timestamp", sqlite3_column_int64(row, 2));
    (void)fprintf(self->out, ",\"size\":%lld", (long long)sqlite3_column_int64(row, 1));
    if (sqlite3_column_type(row, 3) != SQLITE_NULL) {
        (void)fputs(",\"deallocation\":{", self->out);
        bytehound_put_times(self, "timestamp", sqlite3_column_int64(row, 3));
        (void)fputs(",\"sources\":[]}", self->out);
    } else {
        (void)fputs(",\"deallocation\":null", self->out);
    }
    put_flags(self, sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5));
    (void)fprintf(self->out, ",\"file_offset\":%lld,\"inode\":null,\"major\":null,\"minor\":null",
                  (long long)sqlite3_column_int64(row, 6));
    put_name(self, row, 7);
    (void)fputc('}', self->out);
}

static int put_regions(const struct maps *maps, int64_t id, struct error *err)
{
    const struct bytehound *self = maps->self;
    const char *separator = "";
    int rc;

    (void)fputs(",\"regions\":[", self->out);
    sqlite3_reset(maps->regions);
    sqlite3_bind_int64(maps->regions, 1, id);
    while ((rc = rundb_step(&self->database, maps->regions, err)) == 1) {
        (void)fputs(separator, self->out);
        put_region(self, maps->regions);
        separator = ",";
    }
    (void)fputc(']', self->out);
    return rc;
}

static int put_map(const struct maps *maps, struct sqlite3_stmt *row, struct error *err)
{
    const struct bytehound *self = maps->self;
    int64_t mapped_ns = sqlite3_column_int64(row, COLUMN_MAPPED);
    int64_t id = sqlite3_column_int64(row, COLUMN_ID);
    int rc = 0;

    (void)fprintf(self->out, "{\"id\":%" PRId64 ",", id);
    bytehound_put_address(self, "address", (uint64_t)sqlite3_column_int64(row, COLUMN_ADDRESS));
    (void)fputc(',', self->out);
    bytehound_put_times(self, "timestamp", mapped_ns);
    (void)fprintf(self->out, ",\"size\":%lld,",
                  (long long)sqlite3_column_int64(row, COLUMN_LENGTH));
    put_source(maps, mapped_ns, row, COLUMN_THREAD, COLUMN_BACKTRACE);
    put_deallocation(maps, row);
    put_flags(self, sqlite3_column_int64(row, COLUMN_PROT),
              sqlite3_column_int64(row, COLUMN_FLAGS));
    put_name(self, row, COLUMN_PATH);
    if (sqlite3_column_type(row, COLUMN_PEAK_RSS) != SQLITE_NULL)
        (void)fprintf(self->out, ",\"peak_rss\":%lld",
                      (long long)sqlite3_column_int64(row, COLUMN_PEAK_RSS));
    else
        (void)fputs(",\"peak_rss\":null", self->out);
    (void)fputs(",\"graph_url\":null,\"graph_preview_url\":null", self->out);
    if (maps->has_regions)
        rc = put_regions(maps, id, err);
    if (maps->has_usage)
        (void)fputs(",\"usage_history\":[]", self->out);
    (void)fputc('}', self->out);
    return rc;
}

/* ---- which ---- */

static const struct bytehound_sort_key keys[] = {{"timestamp", "mapped_ns"},
                                                 {"address", "address"},
                                                 {"size", "length"},
                                                 {"peak_rss", "peak_rss_bytes"},
                                                 {NULL, NULL}};

/* A mapping is selected if one of its pieces passes the filter. With an id, only that one. */
static char *make_where(const struct maps *maps)
{
    const char *id = exchange_parameter(maps->self->exchange, "id");
    const char *more = sqlite3_str_value(maps->filter.more);

    if (id)
        return sqlite3_mprintf("m.mmap_call_id = %lld", strtoll(id, NULL, 10));
    return sqlite3_mprintf("m.mmap_call_id IN (SELECT m.mmap_call_id FROM mmaps AS m"
                           " JOIN processes AS p ON p.process_id = m.process_id WHERE 1%s)",
                           more ? more : "");
}

static int put_rows(struct maps *maps, const char *where, const char *key, struct error *err)
{
    const struct bytehound *self = maps->self;
    const struct bytehound_filter *filter = &maps->filter;
    struct sqlite3_stmt *stmt = NULL;
    const char *separator = "";
    int rc = bytehound_filter_prepare(
        filter, self,
        sqlite3_mprintf("SELECT %s FROM mmaps AS m WHERE %s GROUP BY m.mmap_call_id"
                        " ORDER BY %s %s, id LIMIT %lld OFFSET %lld",
                        map_columns, where, key, filter->is_descending ? "DESC" : "ASC",
                        (long long)filter->count, (long long)filter->skip),
        &stmt, err);

    (void)fputs("{\"maps\":[", self->out);
    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        (void)fputs(separator, self->out);
        rc = put_map(maps, stmt, err);
        separator = ",\n";
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int check_id(const struct bytehound *self, struct error *err)
{
    const char *id = exchange_parameter(self->exchange, "id");

    if (!id || (*id && strlen(id) < 19 && strspn(id, "0123456789") == strlen(id)))
        return 0;
    return error_set(err, ERROR_USAGE, "id: '%.100s' is not the id of a map", id);
}

static int read_flags(struct maps *maps, struct error *err)
{
    bool has_graphs;
    int rc = bytehound_flag(maps->self, "with_regions", &maps->has_regions, err);

    if (rc == 0)
        rc = bytehound_flag(maps->self, "with_usage_history", &maps->has_usage, err);
    if (rc == 0)
        rc = bytehound_flag(maps->self, "generate_graphs", &has_graphs, err);
    return rc == 0 ? check_id(maps->self, err) : rc;
}

static int put_maps(struct maps *maps, struct error *err)
{
    struct bytehound *self = maps->self;
    const char *key;
    char *where;
    int rc = read_flags(maps, err);

    if (rc == 0)
        rc = bytehound_filter_key(&maps->filter, keys, &key, err);
    if (rc == 0)
        rc = bytehound_stacks_load(&maps->stacks, self, err);
    if (rc == 0)
        rc = rundb_prepare(&self->database, regions_sql, &maps->regions, err);
    if (rc != 0)
        return rc;
    where = make_where(maps);
    rc = where ? put_rows(maps, where, key, err) : error_set(err, ERROR_NOMEM, "no memory");
    if (rc == 0)
        rc = bytehound_filter_put_total(
            &maps->filter, self,
            sqlite3_mprintf("SELECT count(DISTINCT m.mmap_call_id) FROM mmaps AS m WHERE %s",
                            where),
            err);
    sqlite3_free(where);
    return rc;
}

int bytehound_maps(struct bytehound *self, const char *rest, struct error *err)
{
    struct maps maps = {.self = self};
    int rc = bytehound_filter_init(&maps.filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = put_maps(&maps, err);
    sqlite3_finalize(maps.regions);
    bytehound_stacks_done(&maps.stacks);
    bytehound_filter_done(&maps.filter);
    return rc;
}

int bytehound_map_filter_to_sql(struct bytehound *self, const char *rest, struct error *err)
{
    struct maps maps = {.self = self};
    struct sqlite3_stmt *stmt = NULL;
    char *where = NULL;
    int rc = bytehound_filter_init(&maps.filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = check_id(self, err);
    if (rc == 0)
        where = make_where(&maps);
    if (rc == 0)
        rc = bytehound_filter_prepare(
            &maps.filter, self,
            where ? sqlite3_mprintf("SELECT m.* FROM mmaps AS m WHERE %s", where) : NULL, &stmt,
            err);
    if (rc == 0)
        bytehound_put_sql(self, stmt);
    sqlite3_finalize(stmt);
    sqlite3_free(where);
    bytehound_filter_done(&maps.filter);
    return rc;
}
