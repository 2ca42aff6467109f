/* SPDX-License-Identifier: MIT */
/* Stacks, calls of mallopt, and the memory that blocks lie in. */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/bytehound/bytehound_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- stacks ---- */

static int put_backtraces(const struct bytehound *self, const struct bytehound_stacks *stacks,
                          const struct bytehound_filter *filter, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    const char *where = sqlite3_str_value(filter->sql.stack);
    int64_t n = 0;
    int rc = bytehound_filter_prepare(
        filter, self,
        sqlite3_mprintf("SELECT b.backtrace_id FROM backtraces AS b WHERE b.backtrace_id IN"
                        " (SELECT g.backtrace_id FROM main.backtrace_totals AS g)%s"
                        " ORDER BY b.backtrace_id",
                        where ? where : ""),
        &stmt, err);

    (void)fputs("{\"backtraces\":[", self->out);
    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        (void)fputs(n++ > 0 ? ",\n" : "", self->out);
        bytehound_stacks_put(stacks, self, sqlite3_column_int64(stmt, 0));
        rc = 0;
    }
    (void)fprintf(self->out, "],\n\"total_count\":%" PRId64 "}\n", n);
    sqlite3_finalize(stmt);
    return rc;
}

static int check_stack_filter(const struct bytehound_filter *filter, struct error *err)
{
    for (size_t i = 0; i < filter->filter.n_values; i++) {
        const struct filter_value *value = &filter->filter.values[i];

        if (filter_value_scope(value) != FILTER_SCOPE_STACK)
            return error_set(err, ERROR_USAGE,
                             "%s: backtraces can be filtered by depth and names "
                             "only",
                             value->parameter->name);
    }
    return bytehound_filter_is_of_groups(filter)
               ? 0
               : error_set(err, ERROR_USAGE, "backtraces can be filtered by depth and names only");
}

int bytehound_backtraces(struct bytehound *self, const char *rest, struct error *err)
{
    struct bytehound_stacks stacks = {0};
    struct bytehound_filter filter;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = check_stack_filter(&filter, err);
    if (rc == 0)
        rc = bytehound_stacks_load(&stacks, self, err);
    if (rc == 0)
        rc = put_backtraces(self, &stacks, &filter, err);
    bytehound_stacks_done(&stacks);
    bytehound_filter_done(&filter);
    return rc;
}

int bytehound_backtrace(struct bytehound *self, const char *rest, struct error *err)
{
    struct bytehound_stacks stacks = {0};
    char *end = NULL;
    int64_t id = *rest == '/' ? strtoll(rest + 1, &end, 10) : 0;
    int rc;

    if (!end || end == rest + 1 || *end)
        return error_set(err, ERROR_USAGE, "backtrace is followed by the number of a stack");
    rc = bytehound_stacks_load(&stacks, self, err);
    if (rc == 0 && !bytehound_stacks_has(&stacks, id))
        rc = error_set(err, ERROR_NOT_FOUND, "there is no stack %" PRId64, id);
    if (rc == 0) {
        (void)fputs("{\"frames\":", self->out);
        bytehound_stacks_put(&stacks, self, id);
        (void)fputs("}\n", self->out);
    }
    bytehound_stacks_done(&stacks);
    return rc;
}

/* ---- raw stacks of every allocation ---- */

static void put_addresses(const struct bytehound *self, const struct bytehound_stacks *stacks,
                          struct sqlite3_stmt *row)
{
    const char *separator = "";
    int64_t at = sqlite3_column_int64(row, 0);

    (void)fputs("{\"backtrace\":[", self->out);
    for (; bytehound_stacks_has(stacks, at); at = stacks->nodes[at].parent) {
        size_t n;
        const struct bytehound_level *levels = bytehound_stacks_levels(stacks, at, &n);

        if (n == 0)
            continue;
        (void)fprintf(self->out, "%s\"%016" PRIX64 "\"", separator, (uint64_t)levels[0].address);
        separator = ",";
    }
    (void)fputs("]}", self->out);
}

typedef void put_row_fn(const struct bytehound *self, const struct bytehound_stacks *stacks,
                        struct sqlite3_stmt *row);

/* An array of what put makes of each row. */
static int put_rows(struct bytehound *self, const char *sql, put_row_fn *put, struct error *err)
{
    struct bytehound_stacks stacks;
    struct sqlite3_stmt *stmt = NULL;
    const char *separator = "";
    int rc = bytehound_stacks_load(&stacks, self, err);

    if (rc == 0)
        rc = rundb_prepare(&self->database, sql, &stmt, err);
    (void)fputc('[', self->out);
    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        (void)fputs(separator, self->out);
        put(self, &stacks, stmt);
        separator = ",\n";
        rc = 0;
    }
    (void)fputs("]\n", self->out);
    sqlite3_finalize(stmt);
    bytehound_stacks_done(&stacks);
    return rc;
}

int bytehound_raw_allocations(struct bytehound *self, const char *rest, struct error *err)
{
    int rc = bytehound_check_rows(self, err);

    (void)rest;
    return rc ? rc
              : put_rows(self, "SELECT backtrace_id FROM allocation_rows ORDER BY allocation_id",
                         put_addresses, err);
}

/* ---- mallopt ---- */

static void put_mallopt(const struct bytehound *self, const struct bytehound_stacks *stacks,
                        struct sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 4);

    (void)fputc('{', self->out);
    bytehound_put_timeval(self, "timestamp",
                          saturating_add(self->start_unix_ns, sqlite3_column_int64(row, 0)));
    (void)fprintf(self->out, ",\"thread\":%lld,\"backtrace_id\":%lld,\"backtrace\":",
                  (long long)sqlite3_column_int64(row, 1), (long long)sqlite3_column_int64(row, 2));
    bytehound_stacks_put(stacks, self, sqlite3_column_int64(row, 2));
    (void)fprintf(self->out,
                  ",\"raw_param\":%lld,\"param\":", (long long)sqlite3_column_int64(row, 3));
    (void)fprintf(self->out, name ? "\"%.40s\"" : "null", name);
    (void)fprintf(self->out, ",\"value\":%lld,\"result\":%lld}",
                  (long long)sqlite3_column_int64(row, 5), (long long)sqlite3_column_int64(row, 6));
}

int bytehound_mallopts(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return put_rows(self,
                    "SELECT m.at_ns, t.tid, m.backtrace_id, m.parameter, m.parameter_name,"
                    " m.value, m.result FROM mallopts AS m"
                    " LEFT JOIN threads AS t ON t.thread_id = m.thread_id"
                    " WHERE m.call = 'mallopt' ORDER BY m.mallopt_id",
                    put_mallopt, err);
}

/* ---- regions ---- */

/* With the allocator's words before a block: one of a heap's, two of a mapping of its own. */
static const char region_columns[] =
    "a.address - iif(a.heap_id IS NULL, 16, 8) AS start_address,"
    " a.address + a.size_bytes + ifnull(a.slack_bytes, 0) AS end_address";

struct region {
    uint64_t start, end;
    bool is_any;
};

static void put_region(const struct bytehound *self, const struct region *region, bool *has_any)
{
    if (region->is_any)
        (void)fprintf(self->out, "%s[%" PRIu64 ",%" PRIu64 "]", *has_any ? "," : "", region->start,
                      region->end);
    *has_any |= region->is_any;
}

static int put_regions(const struct bytehound *self, const struct bytehound_filter *filter,
                       struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    struct region region = {0};
    bool has_any = false;
    int rc = bytehound_filter_prepare(
        filter, self,
        bytehound_filter_rows(filter, region_columns,
                              "AND a.address IS NOT NULL ORDER BY start_address"),
        &stmt, err);

    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        uint64_t start = (uint64_t)sqlite3_column_int64(stmt, 0);
        uint64_t end = (uint64_t)sqlite3_column_int64(stmt, 1);

        rc = 0;
        if (region.is_any && start <= region.end) {
            region.end = end > region.end ? end : region.end;
            continue;
        }
        put_region(self, &region, &has_any);
        region = (struct region){start, end, true};
    }
    put_region(self, &region, &has_any);
    sqlite3_finalize(stmt);
    return rc;
}

int bytehound_regions(struct bytehound *self, const char *rest, struct error *err)
{
    struct bytehound_filter filter;
    int64_t start = 0;
    int64_t end = 0;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    if (rc == 0)
        rc = bytehound_check_rows(self, err);
    if (rc == 0)
        rc =
            rundb_get_int64(&self->database,
                            "SELECT min(start_address) FROM heaps WHERE kind = 'brk'", &start, err);
    if (rc == 0)
        rc = rundb_get_int64(&self->database,
                             "SELECT max(end_address) FROM heaps WHERE kind = 'brk'", &end, err);
    if (rc == 0) {
        (void)fputc('{', self->out);
        bytehound_put_address(self, "main_heap_start", (uint64_t)start);
        (void)fputc(',', self->out);
        bytehound_put_address(self, "main_heap_end", (uint64_t)end);
        (void)fputs(",\n\"regions\":[", self->out);
        rc = put_regions(self, &filter, err);
        (void)fputs("]}\n", self->out);
    }
    bytehound_filter_done(&filter);
    return rc;
}
