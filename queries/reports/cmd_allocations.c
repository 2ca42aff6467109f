/* SPDX-License-Identifier: MIT */
/*
 * allocations: the blocks that pass the filters, one row each. block ADDRESS: all blocks that ever
 * covered an address. Rows are found and sorted by id first; only those that are shown are read in
 * full.
 */
#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/core/report_sql.h"
#include "queries/filter/filter_sql.h"
#include "queries/reports/reports.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char narrow_columns[] =
    "v.process_id, v.allocation_id, v.alloc_ns, v.lifetime_ns, v.size_bytes, v.address, v.kind, v.ended_by,"
    " v.backtrace_id, s.function, s.source, s.line, s.module, b.call_site_id";
static const char all_columns[] = "v.*, s.function, s.source, s.line, s.module, b.call_site_id";

/* Values of --sort-by: words for people and column names. */
static const struct sort_key {
    const char *name;
    const char *column;
    bool is_largest_first;
} sort_keys[] = {
    {"timestamp", "a.alloc_ns", false},   {"alloc_ns", "a.alloc_ns", false},
    {"address", "a.address", false},      {"size", "a.size_bytes", true},
    {"size_bytes", "a.size_bytes", true}, {"lifetime_ns", "a.lifetime_ns", true},
};

static char *make_columns(const struct query *query)
{
    bool is_narrow = query->style.format == RENDER_TABLE && !query->options->is_wide;
    struct sqlite3_str *columns = sqlite3_str_new(query->database.handle);

    sqlite3_str_appendall(columns, is_narrow ? narrow_columns : all_columns);
    report_sql_append_stacks_columns(query, true, "v", columns);
    return sqlite3_str_finish(columns);
}

static int find_sort_key(const char *name, const struct sort_key **ret_key, struct error *err)
{
    *ret_key = &sort_keys[0];
    if (!name)
        return 0;
    for (size_t i = 0; i < sizeof(sort_keys) / sizeof(sort_keys[0]); i++) {
        if (strcmp(sort_keys[i].name, name) == 0) {
            *ret_key = &sort_keys[i];
            return 0;
        }
    }
    return error_set(err, ERROR_USAGE,
                     "'%s' is not a sort key of allocations; allowed: timestamp, address, size,"
                     " lifetime_ns",
                     name);
}

/* Ids are in time order: rows are printed as they are read, without memory for a sort. */
static char *make_stream(const struct filter_sql *filter, const char *columns, bool is_dsc,
                         const char *condition)
{
    char *tail = sqlite3_mprintf("%s ORDER BY %s LIMIT :count OFFSET :skip", condition,
                                 filter_sql_id_order(filter, is_dsc));
    char *found = tail ? filter_sql_rows(filter, "a.allocation_id", 0, tail) : NULL;
    char *sql =
        found ? sqlite3_mprintf("SELECT %s FROM (%s) AS f"
                                " CROSS JOIN allocations AS v ON v.allocation_id = f.allocation_id"
                                " LEFT JOIN backtraces AS b ON b.backtrace_id = v.backtrace_id"
                                " LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id",
                                columns, found)
              : NULL;

    sqlite3_free(tail);
    sqlite3_free(found);
    return sql;
}

static bool is_descending(const struct query_options *options, const struct sort_key *key)
{
    return options->order == ORDER_DEFAULT ? key->is_largest_first : options->order == ORDER_DSC;
}

/* "WITH found AS (SELECT a.allocation_id … LIMIT …) SELECT … ORDER BY …" */
static char *make_statement(const struct query *query, const struct filter_sql *filter,
                            const struct sort_key *key, const char *columns, const char *condition)
{
    const struct query_options *options = query->options;
    bool is_dsc = is_descending(options, key);
    const char *direction = is_dsc ? "DESC" : "ASC";
    char *tail;
    char *found;
    char *sql;

    if (strcmp(key->column, "a.alloc_ns") == 0)
        return make_stream(filter, columns, is_dsc, condition);
    tail = sqlite3_mprintf("%s ORDER BY %s %s, a.allocation_id LIMIT :count OFFSET :skip",
                           condition, key->column, direction);
    found = tail ? filter_sql_rows(filter, "a.allocation_id", 0, tail) : NULL;
    sql = found ? sqlite3_mprintf("WITH found AS MATERIALIZED (%s) SELECT %s FROM found AS f"
                                  " JOIN allocations AS v ON v.allocation_id = f.allocation_id"
                                  " JOIN allocation_rows AS a ON a.allocation_id = f.allocation_id"
                                  " LEFT JOIN backtraces AS b ON b.backtrace_id = v.backtrace_id"
                                  " LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id"
                                  " ORDER BY %s %s, v.allocation_id",
                                  found, columns, key->column, direction)
                : NULL;

    sqlite3_free(tail);
    sqlite3_free(found);
    return sql;
}

static int render(struct query *query, struct sqlite3_stmt *stmt, struct error *err)
{
    int64_t max_rows = query_max_rows(query);
    int64_t n_rows;

    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":count"),
                       max_rows < 0 ? -1 : max_rows + 1);
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":skip"), query->options->skip);
    if (query_show_sql(query, stmt))
        return 0;
    return report_print(query, stmt, NULL, NULL, &n_rows, err);
}

/* With --fail-if every row that passes the filters is tested: run it as a normal report. */
static int run_gate(struct query *query, const struct filter_sql *filter,
                    const struct sort_key *key, const char *condition, struct error *err)
{
    const struct query_options *asked = query->options;
    struct query_options options = *asked;
    char *found = filter_sql_rows(filter, "a.allocation_id", 0, condition);
    char *source =
        found ? sqlite3_mprintf("(SELECT %s FROM (%s) AS f"
                                " JOIN allocations AS v ON v.allocation_id = f.allocation_id"
                                " LEFT JOIN backtraces AS b ON b.backtrace_id = v.backtrace_id"
                                " LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id)",
                                all_columns, found)
              : NULL;
    int rc;

    if (options.sort_by)
        options.sort_by = key->column + strlen("a.");
    query->options = &options;
    rc = source ? report_show_filtered(query, source, filter, err)
                : error_set(err, ERROR_NOMEM, "no memory");
    query->options = asked;
    sqlite3_free(found);
    sqlite3_free(source);
    return rc;
}

/* The condition for rows after an allocation in the order of the answer. NULL sorts before all
 * numbers; equal keys are in the order of ids. */
static char *make_after(const struct query_options *options, const struct filter_sql *filter,
                        const struct sort_key *key, const char *condition)
{
    bool is_dsc = is_descending(options, key);
    const char *column = key->column;
    long long id = options->after_id;

    if (!id)
        return sqlite3_mprintf("%s", condition);
    if (strcmp(column, "a.alloc_ns") == 0)
        return sqlite3_mprintf("%s%z", condition, filter_sql_beyond(filter, id, is_dsc));
    return sqlite3_mprintf(
        "%s AND (%s %s (SELECT %s FROM allocation_rows AS a WHERE a.allocation_id = %lld)"
        " OR (%s IS %sNULL AND %lld IN (SELECT a.allocation_id FROM allocation_rows AS a"
        " WHERE a.allocation_id = %lld AND %s IS %sNULL))"
        " OR (a.allocation_id > %lld AND %s IS (SELECT %s FROM allocation_rows AS a"
        " WHERE a.allocation_id = %lld)))",
        condition, column, is_dsc ? "<" : ">", column, id, column, is_dsc ? "" : "NOT ", id, id,
        column, is_dsc ? "NOT " : "", id, column, column, id);
}

static int check_after(const struct query *query, struct error *err)
{
    char sql[96];
    int64_t n = 0;
    int rc;

    if (!query->options->after_id)
        return 0;
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*) FROM allocation_rows WHERE allocation_id = %" PRId64,
                   query->options->after_id);
    rc = rundb_get_int64(&query->database, sql, &n, err);
    return rc == 0 && n == 0
               ? error_set(err, ERROR_NOT_FOUND, "after: there is no allocation %" PRId64,
                           query->options->after_id)
               : rc;
}

static int run(struct query *query, const struct filter *filter, const char *condition,
               struct error *err)
{
    const struct query_options *options = query->options;
    const struct sort_key *key;
    struct filter_sql sql;
    struct sqlite3_stmt *stmt = NULL;
    char *columns = NULL;
    char *after = NULL;
    char *text = NULL;
    int rc = find_sort_key(options->sort_by, &key, err);

    if (rc != 0)
        return rc;
    rc =
        filter_sql_init(&sql, &query->database, filter, options->process_id, options->site_id, err);
    if (rc == 0 && options->fail_if) {
        rc = run_gate(query, &sql, key, condition, err);
        filter_sql_done(&sql);
        return rc;
    }
    if (rc == 0)
        rc = check_after(query, err);
    if (rc == 0) {
        columns = make_columns(query);
        after = make_after(options, &sql, key, condition);
    }
    if (columns && after)
        text = make_statement(query, &sql, key, columns, after);
    if (rc == 0)
        rc = text ? rundb_prepare(&query->database, text, &stmt, err)
                  : error_set(err, ERROR_NOMEM, "no memory");
    if (rc == 0) {
        filter_sql_bind(&sql, stmt);
        rc = render(query, stmt, err);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    sqlite3_free(columns);
    sqlite3_free(after);
    filter_sql_done(&sql);
    return rc;
}

int cmd_allocations_run(struct query *query, struct error *err)
{
    return run(query, &query->options->filter, "", err);
}

/* A block covers [address, address + usable); one of 0 bytes covers its own address. */
int cmd_block_run(struct query *query, struct error *err)
{
    static const struct filter_parameter address = {.name = "block", .type = FILTER_ADDRESS};
    struct filter parsed = {.n_values = 0};
    char condition[160];
    int rc = filter_add(&parsed, &address, query->options->arguments[0], err);

    if (rc != 0)
        return rc;
    sqlite3_snprintf(
        sizeof(condition), condition,
        " AND a.address <= %lld AND a.address + max(1, a.size_bytes + ifnull(a.slack_bytes, 0)) > %lld",
        (long long)parsed.values[0].number, (long long)parsed.values[0].number);
    return run(query, &query->options->filter, condition, err);
}
