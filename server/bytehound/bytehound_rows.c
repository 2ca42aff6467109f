/* SPDX-License-Identifier: MIT */
/* Allocations one by one, and groups of those with one stack. */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/bytehound/bytehound_stacks.h"

#include <inttypes.h>
#include <string.h>

/* ---- allocations ---- */

/* In the order of enum column. */
static const char allocation_columns[] =
    "a.allocation_id, a.address, a.alloc_ns, a.thread_id, a.size_bytes, a.backtrace_id,"
    " a.lifetime_ns, a.other_free_thread_id, a.free_backtrace_id, a.ended_by, a.heap_id,"
    " ifnull(a.slack_bytes, 0) AS slack_bytes, a.call_code & 31 AS kind";

enum column {
    COLUMN_ID,
    COLUMN_ADDRESS,
    COLUMN_ALLOC_NS,
    COLUMN_THREAD,
    COLUMN_SIZE,
    COLUMN_BACKTRACE,
    COLUMN_LIFETIME,
    COLUMN_OTHER_THREAD,
    COLUMN_FREE_BACKTRACE,
    COLUMN_ENDED_BY,
    COLUMN_HEAP,
    COLUMN_SLACK,
    COLUMN_KIND,
    COLUMN_POSITION,
    COLUMN_LENGTH,
    COLUMN_CHAIN_START,
    COLUMN_CHAIN_END,
    COLUMN_TID,
    COLUMN_FREE_TID,
    COLUMN_IS_BRK,
    COLUMN_IS_JEMALLOC,
    COLUMN_LAST_THREAD,
    COLUMN_LAST_FREE_BACKTRACE,
};

/* Looks up details only for the rows that are shown. */
static const char shown_columns[] =
    "f.*, c.chain_position, k.length, k.start_ns, k.end_ns,"
    " (SELECT t.tid FROM threads AS t WHERE t.thread_id = f.thread_id),"
    " (SELECT t.tid FROM threads AS t WHERE t.thread_id = ifnull(f.other_free_thread_id, f.thread_id)),"
    " ifnull((SELECT h.kind = 'brk' FROM heaps AS h WHERE h.heap_id = f.heap_id), 0),"
    " (SELECT n.name IN ('mallocx', 'rallocx', 'smallocx') FROM kinds AS n WHERE n.kind = f.kind),"
    " (SELECT t.tid FROM threads AS t WHERE t.thread_id = ifnull(e.other_free_thread_id, e.thread_id)),"
    " e.free_backtrace_id";

static void put_deallocation(const struct bytehound *self, const struct bytehound_stacks *stacks,
                             const char *name, int64_t at_ns, int64_t thread, int64_t backtrace)
{
    (void)fprintf(self->out, ",\"%s\":{", name);
    bytehound_put_timeval(self, "timestamp", saturating_add(self->start_unix_ns, at_ns));
    (void)fprintf(self->out, ",\"thread\":%" PRId64, thread);
    if (backtrace) {
        (void)fprintf(self->out, ",\"backtrace_id\":%" PRId64 ",\"backtrace\":", backtrace);
        bytehound_stacks_put(stacks, self, backtrace);
    } else {
        (void)fputs(",\"backtrace_id\":null,\"backtrace\":null", self->out);
    }
    (void)fputc('}', self->out);
}

static void put_chain(const struct bytehound *self, const struct bytehound_stacks *stacks,
                      struct sqlite3_stmt *row)
{
    int64_t position = sqlite3_column_int64(row, COLUMN_POSITION);
    int64_t length = sqlite3_column_int64(row, COLUMN_LENGTH);
    bool has_chain = sqlite3_column_type(row, COLUMN_LENGTH) != SQLITE_NULL;
    bool has_end = sqlite3_column_type(row, COLUMN_CHAIN_END) != SQLITE_NULL;
    int64_t end = sqlite3_column_int64(row, COLUMN_CHAIN_END);

    if (has_chain && has_end && position < length)
        put_deallocation(self, stacks, "chain_deallocation", end,
                         sqlite3_column_int64(row, COLUMN_LAST_THREAD),
                         sqlite3_column_int64(row, COLUMN_LAST_FREE_BACKTRACE));
    else
        (void)fputs(",\"chain_deallocation\":null", self->out);
    if (has_end) {
        (void)fputc(',', self->out);
        bytehound_put_timeval(
            self, "chain_lifetime",
            saturating_subtract(end, sqlite3_column_int64(row, COLUMN_CHAIN_START)));
    } else {
        (void)fputs(",\"chain_lifetime\":null", self->out);
    }
    (void)fprintf(self->out, ",\"position_in_chain\":%" PRId64 ",\"chain_length\":%" PRId64,
                  has_chain ? saturating_subtract(position, 1) : 0, has_chain ? length : 1);
}

static const char *yes(bool value)
{
    return value ? "true" : "false";
}

static void put_allocation(const struct bytehound *self, const struct bytehound_stacks *stacks,
                           struct sqlite3_stmt *row)
{
    int64_t allocated = sqlite3_column_int64(row, COLUMN_ALLOC_NS);
    int64_t backtrace = sqlite3_column_int64(row, COLUMN_BACKTRACE);
    int64_t ended_by = sqlite3_column_int64(row, COLUMN_ENDED_BY);

    (void)fprintf(self->out, "{\"id\":%lld,", (long long)sqlite3_column_int64(row, COLUMN_ID));
    bytehound_put_address(self, "address", (uint64_t)sqlite3_column_int64(row, COLUMN_ADDRESS));
    (void)fputc(',', self->out);
    bytehound_put_times(self, "timestamp", allocated);
    (void)fprintf(self->out, ",\"thread\":%lld,\"size\":%lld,\"backtrace_id\":%" PRId64,
                  (long long)sqlite3_column_int64(row, COLUMN_TID),
                  (long long)sqlite3_column_int64(row, COLUMN_SIZE), backtrace);
    if (ended_by != 0)
        put_deallocation(self, stacks, "deallocation",
                         saturating_add(allocated, sqlite3_column_int64(row, COLUMN_LIFETIME)),
                         sqlite3_column_int64(row, COLUMN_FREE_TID),
                         sqlite3_column_int64(row, COLUMN_FREE_BACKTRACE));
    else
        (void)fputs(",\"deallocation\":null", self->out);
    put_chain(self, stacks, row);
    (void)fputs(",\"backtrace\":", self->out);
    bytehound_stacks_put(stacks, self, backtrace);
    (void)fprintf(self->out,
                  ",\"is_mmaped\":%s,\"in_main_arena\":%s,\"is_jemalloc\":%s,\"extra_space\":%lld}",
                  yes(sqlite3_column_type(row, COLUMN_HEAP) == SQLITE_NULL),
                  yes(sqlite3_column_int64(row, COLUMN_IS_BRK) != 0),
                  yes(sqlite3_column_int64(row, COLUMN_IS_JEMALLOC) != 0),
                  (long long)sqlite3_column_int64(row, COLUMN_SLACK));
}

static char *make_allocations(const struct bytehound_filter *filter, const char *key)
{
    const char *direction = filter->is_descending ? "DESC" : "ASC";
    char *tail = sqlite3_mprintf("ORDER BY %s %s%s LIMIT %lld OFFSET %lld", key, direction,
                                 strcmp(key, "a.allocation_id") == 0 ? "" : ", a.allocation_id",
                                 (long long)filter->count, (long long)filter->skip);
    char *found = tail ? bytehound_filter_rows(filter, allocation_columns, tail) : NULL;
    char *sql = found ? sqlite3_mprintf(
                    "SELECT %s FROM (%s) AS f"
                    " LEFT JOIN chain_rows AS c ON c.allocation_id = f.allocation_id"
                    " LEFT JOIN realloc_chains AS k ON k.chain_id = c.chain_id"
                    " LEFT JOIN allocation_rows AS e ON e.allocation_id = k.last_allocation_id",
                    shown_columns, found)
                      : NULL;

    sqlite3_free(tail);
    sqlite3_free(found);
    return sql;
}

static int put_allocations(const struct bytehound *self, const struct bytehound_filter *filter,
                           const struct bytehound_stacks *stacks, const char *key,
                           struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    const char *separator = "";
    int rc = bytehound_filter_prepare(filter, self, make_allocations(filter, key), &stmt, err);

    (void)fputs("{\"allocations\":[", self->out);
    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        (void)fputs(separator, self->out);
        put_allocation(self, stacks, stmt);
        separator = ",\n";
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Ids are 1, 2, 3, … without a gap: of all rows the last one says how many there are. */
static char *make_allocation_count(const struct bytehound_filter *filter)
{
    bool is_of_all = filter->filter.n_values == 0 && bytehound_filter_is_of_groups(filter);

    return is_of_all ? sqlite3_mprintf("SELECT max(allocation_id) FROM allocation_rows")
                     : bytehound_filter_rows(filter, "count(*)", "");
}

int bytehound_allocations(struct bytehound *self, const char *rest, struct error *err)
{
    static const struct bytehound_sort_key keys[] = {{"timestamp", "a.allocation_id"},
                                                     {"address", "a.address"},
                                                     {"size", "a.size_bytes"},
                                                     {NULL, NULL}};
    struct bytehound_stacks stacks = {0};
    struct bytehound_filter filter;
    const char *key;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = bytehound_filter_key(&filter, keys, &key, err);
    if (rc == 0)
        rc = bytehound_check_rows(self, err);
    if (rc == 0)
        rc = bytehound_stacks_load(&stacks, self, err);
    if (rc == 0)
        rc = put_allocations(self, &filter, &stacks, key, err);
    if (rc == 0)
        rc = bytehound_filter_put_total(&filter, self, make_allocation_count(&filter), err);
    bytehound_stacks_done(&stacks);
    bytehound_filter_done(&filter);
    return rc;
}

/* ---- groups ---- */

/* Totals of one stack: of the matching blocks, and of all. Both have bytes, smallest, largest,
 * first, last and leaked blocks. span_ns is a sort key; own_peak_ns is of all blocks. */
#define GROUP_SUMS(blocks, bytes, least, largest, first, last, leaked)                          \
    blocks " AS blocks, " bytes " AS bytes, " least " AS least, " largest " AS largest, " first \
           " AS first_ns, " last " AS last_ns, " leaked " AS leaked, " last " - " first         \
           " AS span_ns"

static const char row_sums[] = "a.backtrace_id AS id, " GROUP_SUMS(
    "count(*)", "sum(a.size_bytes)", "min(a.size_bytes)", "max(a.size_bytes)", "min(a.alloc_ns)",
    "max(a.alloc_ns)", "sum(a.ended_by = 0)");

static const char total_sums[] = "g.backtrace_id AS id, " GROUP_SUMS(
    "sum(g.allocated_blocks)", "sum(g.allocated_bytes)", "min(g.min_size_bytes)",
    "max(g.max_size_bytes)", "min(g.first_ns)", "max(g.last_ns)", "sum(g.leaked_blocks)");

enum {
    GROUP_COLUMNS = 7 /* of either */
};

static char *make_matched(const struct bytehound_filter *filter)
{
    char *found;
    char *sql;

    if (!bytehound_filter_is_of_groups(filter))
        return bytehound_filter_rows(filter, row_sums, "GROUP BY a.backtrace_id");
    found = filter_sql_totals(&filter->sql, total_sums);
    sql = found ? sqlite3_mprintf("%s GROUP BY g.backtrace_id", found) : NULL;
    sqlite3_free(found);
    return sql;
}

/* Without a filter all blocks match: one sum serves for both. */
static char *make_all_groups(const struct bytehound_filter *filter, const char *key)
{
    return sqlite3_mprintf(
        "SELECT m.id, m.blocks, m.bytes, m.least, m.largest, m.first_ns, m.last_ns, m.leaked,"
        " m.blocks, m.bytes, m.least, m.largest, m.first_ns, m.last_ns, m.leaked, m.own_peak_ns"
        " FROM (SELECT %s, max(g.own_peak_ns) AS own_peak_ns FROM main.backtrace_totals AS g"
        " GROUP BY g.backtrace_id) AS m ORDER BY m.%s %s, m.id LIMIT %lld OFFSET %lld",
        total_sums, key + strlen("m."), filter->is_descending ? "DESC" : "ASC",
        (long long)filter->count, (long long)filter->skip);
}

static char *make_groups(const struct bytehound_filter *filter, const char *key)
{
    char *matched;
    char *sql;

    if (filter->filter.n_values == 0 && bytehound_filter_is_of_groups(filter))
        return make_all_groups(filter, key);
    matched = make_matched(filter);
    sql =
        matched ? sqlite3_mprintf(
            "WITH m AS MATERIALIZED (%s), e AS (SELECT %s, max(g.own_peak_ns) AS own_peak_ns"
            " FROM main.backtrace_totals AS g WHERE g.backtrace_id IN (SELECT id FROM m)"
            " GROUP BY g.backtrace_id)"
            " SELECT m.id, m.blocks, m.bytes, m.least, m.largest, m.first_ns, m.last_ns, m.leaked,"
            " e.blocks, e.bytes, e.least, e.largest, e.first_ns, e.last_ns, e.leaked, e.own_peak_ns"
            " FROM m JOIN e ON e.id = m.id ORDER BY %s %s, m.id LIMIT %lld OFFSET %lld",
            matched, total_sums, key, filter->is_descending ? "DESC" : "ASC",
            (long long)filter->count, (long long)filter->skip)
                : NULL;

    sqlite3_free(matched);
    return sql;
}

static void put_sums(const struct bytehound *self, struct sqlite3_stmt *row, int at)
{
    int64_t first = sqlite3_column_int64(row, at + 4);
    int64_t last = sqlite3_column_int64(row, at + 5);

    (void)fprintf(
        self->out,
        "\"size\":%lld,\"min_size\":%lld,\"max_size\":%lld,\"leaked_count\":%lld,"
        "\"allocated_count\":%lld,",
        (long long)sqlite3_column_int64(row, at + 1), (long long)sqlite3_column_int64(row, at + 2),
        (long long)sqlite3_column_int64(row, at + 3), (long long)sqlite3_column_int64(row, at + 6),
        (long long)sqlite3_column_int64(row, at));
    bytehound_put_times(self, "min_timestamp", first);
    (void)fputc(',', self->out);
    bytehound_put_times(self, "max_timestamp", last);
    (void)fputc(',', self->out);
    bytehound_put_timeval(self, "interval", saturating_subtract(last, first));
    (void)fputs(",\"graph_url\":null,\"graph_preview_url\":null", self->out);
}

static void put_group(const struct bytehound *self, const struct bytehound_stacks *stacks,
                      struct sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);

    (void)fputs("{\"all\":{", self->out);
    put_sums(self, row, 1 + GROUP_COLUMNS);
    (void)fputc(',', self->out);
    bytehound_put_times(self, "max_total_usage_first_seen_at",
                        sqlite3_column_int64(row, 1 + 2 * GROUP_COLUMNS));
    (void)fputs("},\"only_matched\":{", self->out);
    put_sums(self, row, 1);
    (void)fprintf(self->out, "},\"backtrace_id\":%" PRId64 ",\"backtrace\":", id);
    bytehound_stacks_put(stacks, self, id);
    (void)fputc('}', self->out);
}

static int put_groups(const struct bytehound *self, const struct bytehound_filter *filter,
                      const struct bytehound_stacks *stacks, const char *key, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    const char *separator = "";
    int rc = bytehound_filter_prepare(filter, self, make_groups(filter, key), &stmt, err);

    (void)fputs("{\"allocations\":[", self->out);
    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        (void)fputs(separator, self->out);
        put_group(self, stacks, stmt);
        separator = ",\n";
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static char *make_count(const struct bytehound_filter *filter)
{
    return bytehound_filter_is_of_groups(filter)
               ? filter_sql_totals(&filter->sql, "count(DISTINCT g.backtrace_id)")
               : bytehound_filter_rows(filter, "count(DISTINCT a.backtrace_id)", "");
}

int bytehound_groups(struct bytehound *self, const char *rest, struct error *err)
{
    static const struct bytehound_sort_key keys[] = {
        {"only_matched.min_timestamp", "m.first_ns"},
        {"only_matched.max_timestamp", "m.last_ns"},
        {"only_matched.interval", "m.span_ns"},
        {"only_matched.allocated_count", "m.blocks"},
        {"only_matched.leaked_count", "m.leaked"},
        {"only_matched.size", "m.bytes"},
        {"all.min_timestamp", "e.first_ns"},
        {"all.max_timestamp", "e.last_ns"},
        {"all.interval", "e.span_ns"},
        {"all.allocated_count", "e.blocks"},
        {"all.leaked_count", "e.leaked"},
        {"all.size", "e.bytes"},
        {"all.max_total_usage_first_seen_at", "e.own_peak_ns"},
        {NULL, NULL}};
    struct bytehound_stacks stacks = {0};
    struct bytehound_filter filter;
    const char *key;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = bytehound_filter_key(&filter, keys, &key, err);
    if (rc == 0 && !bytehound_filter_is_of_groups(&filter))
        rc = bytehound_check_rows(self, err);
    if (rc == 0)
        rc = bytehound_stacks_load(&stacks, self, err);
    if (rc == 0)
        rc = put_groups(self, &filter, &stacks, key, err);
    if (rc == 0)
        rc = bytehound_filter_put_total(&filter, self, make_count(&filter), err);
    bytehound_stacks_done(&stacks);
    bytehound_filter_done(&filter);
    return rc;
}

/* ---- the filter as SQL ---- */

int bytehound_filter_to_sql(struct bytehound *self, const char *rest, struct error *err)
{
    struct bytehound_filter filter;
    struct sqlite3_stmt *stmt = NULL;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = bytehound_filter_prepare(
            &filter, self, bytehound_filter_rows(&filter, "a.*", "ORDER BY a.allocation_id"), &stmt,
            err);
    if (rc == 0)
        bytehound_put_sql(self, stmt);
    sqlite3_finalize(stmt);
    bytehound_filter_done(&filter);
    return rc;
}
