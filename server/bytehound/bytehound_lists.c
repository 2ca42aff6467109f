/* SPDX-License-Identifier: MIT */
/* Lists: recordings, allocations, groups of allocations, calls of mmap and of mallopt. Each is a
 * statement and the table of its fields. */
#include "lib/base/error.h"
#include "queries/filter/filter_sql.h"
#include "server/bytehound/bytehound_fields.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/core/recordings.h"

#include <string.h>

/* ---- statements ---- */

struct selection {
    struct bytehound_filter filter;
    struct filter_sql sql;
    const char *key; /* column to sort by */
};

struct sort_key {
    const char *name;
    const char *column;
};

struct list {
    const struct bytehound_field *fields;
    const struct sort_key *keys; /* ended by NULL; the first is the default */
    char *(*make_rows)(const struct selection *selection);
    char *(*make_count)(const struct selection *selection);
};

/* Frees the text. selection NULL: the statement has no filter. */
static int prepare(const struct bytehound *self, const struct selection *selection, char *sql,
                   struct sqlite3_stmt **ret_stmt, struct error *err)
{
    int rc = sql ? rundb_prepare(&self->database, sql, ret_stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc == 0 && selection)
        filter_sql_bind(&selection->sql, *ret_stmt);
    return rc;
}

/* Prints an array. Frees the text of the statement. */
static int put_array(const struct bytehound *self, const struct selection *selection, char *sql,
                     const struct bytehound_field *fields, struct error *err)
{
    struct bytehound_stacks stacks = {0};
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare(self, selection, sql, &stmt, err);

    if (rc == 0)
        rc = bytehound_stacks_load(&stacks, self, err);
    (void)fputc('[', self->out);
    if (rc == 0)
        rc = bytehound_fields_put(self, &stacks, stmt, fields, err);
    (void)fputc(']', self->out);
    sqlite3_finalize(stmt);
    bytehound_stacks_done(&stacks);
    return rc;
}

static int put_count(const struct bytehound *self, const struct selection *selection, char *sql,
                     struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare(self, selection, sql, &stmt, err);

    if (rc == 0)
        rc = rundb_step(&self->database, stmt, err);
    if (rc == 1)
        (void)fprintf(self->out, ",\n\"total_count\":%lld}\n",
                      (long long)sqlite3_column_int64(stmt, 0));
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

static int find_key(struct selection *selection, const struct sort_key *keys, struct error *err)
{
    const char *name = selection->filter.sort_by;
    char list[512];
    size_t used = 0;

    selection->key = keys[0].column;
    for (const struct sort_key *key = keys; name && key->name; key++) {
        if (strcmp(key->name, name) == 0) {
            selection->key = key->column;
            return 0;
        }
        used += used < sizeof(list) ? (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                                       used ? ", " : "", key->name)
                                    : 0;
    }
    return name ? error_set(err, ERROR_USAGE, "sort_by: '%.100s' is none of %s", name, list) : 0;
}

/* Totals by stack suffice for the filter. */
static bool is_of_totals(const struct selection *selection)
{
    return filter_scope_of(&selection->filter.filter) != FILTER_SCOPE_ROW;
}

/* {"allocations":[…],"total_count":1} */
static int put_list(const struct bytehound *self, const struct list *list, bool needs_rows,
                    struct error *err)
{
    struct selection selection = {0};
    int rc = bytehound_filter_read(&selection.filter, self, err);

    if (rc == 0)
        rc = find_key(&selection, list->keys, err);
    if (rc == 0 && (needs_rows || !is_of_totals(&selection)))
        rc = bytehound_check_rows(self, err);
    if (rc == 0)
        rc = filter_sql_init(&selection.sql, &self->database, &selection.filter.filter, 0, 0, err);
    (void)fputs("{\"allocations\":", self->out);
    if (rc == 0)
        rc = put_array(self, &selection, list->make_rows(&selection), list->fields, err);
    if (rc == 0)
        rc = put_count(self, &selection, list->make_count(&selection), err);
    filter_sql_done(&selection.sql);
    return rc;
}

/* " ORDER BY … LIMIT …": sqlite3_free it. */
static char *make_page(const struct selection *selection, const char *id)
{
    return sqlite3_mprintf(" ORDER BY %s %s, %s LIMIT %lld OFFSET %lld", selection->key,
                           selection->filter.is_descending ? "DESC" : "ASC", id,
                           (long long)selection->filter.count, (long long)selection->filter.skip);
}

/* ---- /list ---- */

int bytehound_list_item(struct bytehound *self, struct error *err)
{
    static const struct bytehound_field fields[] = {{"id", BYTEHOUND_TEXT},
                                                    {"executable", BYTEHOUND_TEXT},
                                                    {"cmdline", BYTEHOUND_TEXT},
                                                    {"architecture", BYTEHOUND_TEXT},
                                                    {"final_allocated", BYTEHOUND_NUMBER},
                                                    {"final_allocated_count", BYTEHOUND_NUMBER},
                                                    {"unique_backtrace_count", BYTEHOUND_NUMBER},
                                                    {"maximum_backtrace_depth", BYTEHOUND_NUMBER},
                                                    {"runtime", BYTEHOUND_SPAN},
                                                    {"timestamp", BYTEHOUND_TIME},
                                                    {NULL, BYTEHOUND_END}};
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare(
        self, NULL,
        sqlite3_mprintf(
            "SELECT %Q, p.executable, CASE WHEN json_valid(p.command_line) THEN"
            " (SELECT group_concat(value, ' ') FROM json_each(p.command_line)) END,"
            " (SELECT value FROM meta WHERE key = 'arch'), t.bytes, t.blocks, t.stacks, t.depth,"
            " %lld, 0 FROM processes AS p, (SELECT ifnull(sum(g.leaked_bytes), 0) AS bytes,"
            " ifnull(sum(g.leaked_blocks), 0) AS blocks,"
            " count(DISTINCT g.backtrace_id) AS stacks, ifnull(max(b.depth), 0) AS depth"
            " FROM main.backtrace_totals AS g LEFT JOIN backtraces AS b"
            " ON b.backtrace_id = g.backtrace_id) AS t ORDER BY p.process_id LIMIT 1",
            self->recording->id, (long long)self->end_ns),
        &stmt, err);

    if (rc == 0)
        rc = bytehound_fields_put(self, NULL, stmt, fields, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- allocations ---- */

#define DEALLOCATION                                                        \
    {"timestamp", BYTEHOUND_TIME}, {"thread", BYTEHOUND_NUMBER},            \
        {"backtrace_id", BYTEHOUND_NUMBER}, {"backtrace", BYTEHOUND_STACK}, \
    {                                                                       \
        NULL, BYTEHOUND_END                                                 \
    }

static const struct bytehound_field allocation_fields[] = {{"id", BYTEHOUND_NUMBER},
                                                           {"address", BYTEHOUND_ADDRESS},
                                                           {"timestamp", BYTEHOUND_TIMES},
                                                           {"thread", BYTEHOUND_NUMBER},
                                                           {"size", BYTEHOUND_NUMBER},
                                                           {"backtrace_id", BYTEHOUND_NUMBER},
                                                           {"deallocation", BYTEHOUND_OBJECT},
                                                           DEALLOCATION,
                                                           {"chain_deallocation", BYTEHOUND_OBJECT},
                                                           DEALLOCATION,
                                                           {"chain_lifetime", BYTEHOUND_SPAN},
                                                           {"position_in_chain", BYTEHOUND_NUMBER},
                                                           {"chain_length", BYTEHOUND_NUMBER},
                                                           {"backtrace", BYTEHOUND_STACK},
                                                           {"is_mmaped", BYTEHOUND_BOOL},
                                                           {"in_main_arena", BYTEHOUND_BOOL},
                                                           {"is_jemalloc", BYTEHOUND_BOOL},
                                                           {"extra_space", BYTEHOUND_NUMBER},
                                                           {NULL, BYTEHOUND_END}};

/* Details are looked up only for the rows of the page. */
static const char allocations_sql[] =
    "SELECT f.allocation_id, f.address, f.alloc_ns, (SELECT t.tid FROM threads AS t WHERE "
    "t.thread_id = f.thread_id), f.size_bytes, f.backtrace_id, f.lifetime_ns, f.alloc_ns + "
    "f.lifetime_ns, (SELECT t.tid FROM threads AS t WHERE t.thread_id = "
    "ifnull(f.other_free_thread_id, f.thread_id)), f.free_backtrace_id, f.free_backtrace_id, "
    "iif(c.chain_position < k.length, k.end_ns, NULL), k.end_ns, (SELECT t.tid FROM threads AS t "
    "WHERE t.thread_id = ifnull(e.other_free_thread_id, e.thread_id)), e.free_backtrace_id, "
    "e.free_backtrace_id, k.end_ns - k.start_ns, ifnull(c.chain_position - 1, 0), ifnull(k.length,"
    " 1), f.backtrace_id, f.heap_id IS NULL, ifnull((SELECT h.kind = 'brk' FROM heaps AS h WHERE "
    "h.heap_id = f.heap_id), 0), ifnull((SELECT n.name IN ('mallocx', 'rallocx', 'smallocx') FROM "
    "kinds AS n WHERE n.kind = f.call_code & 31), 0), ifnull(f.slack_bytes, 0) FROM (%s) AS f LEFT"
    " JOIN chain_rows AS c ON c.allocation_id = f.allocation_id LEFT JOIN realloc_chains AS k ON "
    "k.chain_id = c.chain_id LEFT JOIN allocation_rows AS e ON e.allocation_id = "
    "k.last_allocation_id";

static char *make_allocations(const struct selection *selection)
{
    char *page = make_page(selection, "a.allocation_id");
    char *found = page ? filter_sql_rows(&selection->sql, "a.*", 0, page) : NULL;
    char *sql = found ? sqlite3_mprintf(allocations_sql, found) : NULL;

    sqlite3_free(page);
    sqlite3_free(found);
    return sql;
}

/* Ids are 1, 2, 3, … without a gap: of all rows the last one says how many there are. */
static char *make_allocation_count(const struct selection *selection)
{
    return selection->filter.filter.n_values == 0
               ? sqlite3_mprintf("SELECT max(allocation_id) FROM allocation_rows")
               : filter_sql_rows(&selection->sql, "count(*)", 0, "");
}

int bytehound_allocations(struct bytehound *self, struct error *err)
{
    static const struct sort_key keys[] = {{"timestamp", "a.allocation_id"},
                                           {"address", "a.address"},
                                           {"size", "a.size_bytes"},
                                           {NULL, NULL}};
    static const struct list list = {allocation_fields, keys, make_allocations,
                                     make_allocation_count};

    return put_list(self, &list, true, err);
}

/* ---- groups ---- */

#define GROUP_FIELDS                                                            \
    {"allocated_count", BYTEHOUND_NUMBER}, {"size", BYTEHOUND_NUMBER},          \
        {"min_size", BYTEHOUND_NUMBER}, {"max_size", BYTEHOUND_NUMBER},         \
        {"min_timestamp", BYTEHOUND_TIMES}, {"max_timestamp", BYTEHOUND_TIMES}, \
        {"interval", BYTEHOUND_SPAN}, {"leaked_count", BYTEHOUND_NUMBER},       \
        {"graph_url", BYTEHOUND_NULL},                                          \
    {                                                                           \
        "graph_preview_url", BYTEHOUND_NULL                                     \
    }

static const struct bytehound_field group_fields[] = {
    {"only_matched", BYTEHOUND_OBJECT},
    GROUP_FIELDS,
    {NULL, BYTEHOUND_END},
    {"all", BYTEHOUND_OBJECT},
    GROUP_FIELDS,
    {"max_total_usage_first_seen_at", BYTEHOUND_TIMES},
    {NULL, BYTEHOUND_END},
    {"backtrace_id", BYTEHOUND_NUMBER},
    {"backtrace", BYTEHOUND_STACK},
    {NULL, BYTEHOUND_END}};

#define GROUP_COLUMNS(from)                                                       \
    "1, " from ".blocks, " from ".bytes, " from ".least, " from ".largest, " from \
    ".first_ns, " from ".last_ns, " from ".last_ns - " from ".first_ns, " from ".leaked"

static const char row_sums[] =
    "a.backtrace_id AS id, count(*) AS blocks, sum(a.size_bytes) AS bytes,"
    " min(a.size_bytes) AS least, max(a.size_bytes) AS largest, min(a.alloc_ns) AS first_ns,"
    " max(a.alloc_ns) AS last_ns, sum(a.ended_by = 0) AS leaked";

static const char total_sums[] =
    "g.backtrace_id AS id, sum(g.allocated_blocks) AS blocks, sum(g.allocated_bytes) AS bytes,"
    " min(g.min_size_bytes) AS least, max(g.max_size_bytes) AS largest, min(g.first_ns) AS first_ns,"
    " max(g.last_ns) AS last_ns, sum(g.leaked_blocks) AS leaked, max(g.own_peak_ns) AS own_peak_ns";

/* m: the blocks that match. e: all blocks of their stacks, the same if only stacks are chosen. */
static char *make_groups(const struct selection *selection)
{
    bool is_of_all = filter_scope_of(&selection->filter.filter) == FILTER_SCOPE_STACK;
    char *page = make_page(selection, "m.id");
    char *matched = is_of_totals(selection) ? filter_sql_totals(&selection->sql, total_sums)
                                            : filter_sql_rows(&selection->sql, row_sums, 0, "");
    char *sql = NULL;

    if (page && matched && is_of_all)
        sql =
            sqlite3_mprintf("WITH m AS (%s GROUP BY backtrace_id) SELECT " GROUP_COLUMNS(
                                "m") ", " GROUP_COLUMNS("m") ", m.own_peak_ns, m.id, m.id FROM m%s",
                            matched, page);
    else if (page && matched)
        sql = sqlite3_mprintf(
            "WITH m AS MATERIALIZED (%s GROUP BY backtrace_id), e AS (SELECT %s"
            " FROM main.backtrace_totals AS g WHERE g.backtrace_id IN"
            " (SELECT id FROM m) GROUP BY g.backtrace_id) SELECT " GROUP_COLUMNS("m") ", " GROUP_COLUMNS(
                "e") ", e.own_peak_ns, m.id, m.id FROM m JOIN e ON e.id = m.id%s",
            matched, total_sums, page);
    sqlite3_free(page);
    sqlite3_free(matched);
    return sql;
}

static char *make_group_count(const struct selection *selection)
{
    return is_of_totals(selection)
               ? filter_sql_totals(&selection->sql, "count(DISTINCT g.backtrace_id)")
               : filter_sql_rows(&selection->sql, "count(DISTINCT a.backtrace_id)", 0, "");
}

/* Keys are numbers of columns, which both statements have. */
int bytehound_groups(struct bytehound *self, struct error *err)
{
    static const struct sort_key keys[] = {{"only_matched.min_timestamp", "6"},
                                           {"only_matched.max_timestamp", "7"},
                                           {"only_matched.interval", "8"},
                                           {"only_matched.allocated_count", "2"},
                                           {"only_matched.leaked_count", "9"},
                                           {"only_matched.size", "3"},
                                           {"all.min_timestamp", "15"},
                                           {"all.max_timestamp", "16"},
                                           {"all.interval", "17"},
                                           {"all.allocated_count", "11"},
                                           {"all.leaked_count", "18"},
                                           {"all.size", "12"},
                                           {"all.max_total_usage_first_seen_at", "19"},
                                           {NULL, NULL}};
    static const struct list list = {group_fields, keys, make_groups, make_group_count};

    return put_list(self, &list, false, err);
}

/* ---- calls ---- */

#define CALL_FIELDS                                              \
    {"timestamp", BYTEHOUND_TIME}, {"thread", BYTEHOUND_NUMBER}, \
        {"backtrace_id", BYTEHOUND_NUMBER},                      \
    {                                                            \
        "backtrace", BYTEHOUND_STACK                             \
    }

static const struct bytehound_field mmap_fields[] = {{"mmap", BYTEHOUND_CHOICE},
                                                     CALL_FIELDS,
                                                     {"pointer", BYTEHOUND_ADDRESS},
                                                     {"length", BYTEHOUND_NUMBER},
                                                     {"requested_address", BYTEHOUND_NULL},
                                                     {"requested_address_s", BYTEHOUND_NULL},
                                                     {"is_readable", BYTEHOUND_BOOL},
                                                     {"is_writable", BYTEHOUND_BOOL},
                                                     {"is_executable", BYTEHOUND_BOOL},
                                                     {"is_semaphore", BYTEHOUND_BOOL},
                                                     {"grows_down", BYTEHOUND_BOOL},
                                                     {"grows_up", BYTEHOUND_BOOL},
                                                     {"is_shared", BYTEHOUND_BOOL},
                                                     {"is_private", BYTEHOUND_BOOL},
                                                     {"is_fixed", BYTEHOUND_BOOL},
                                                     {"is_anonymous", BYTEHOUND_BOOL},
                                                     {"is_uninitialized", BYTEHOUND_BOOL},
                                                     {"offset", BYTEHOUND_NUMBER},
                                                     {"file_descriptor", BYTEHOUND_NUMBER},
                                                     {NULL, BYTEHOUND_END},
                                                     {"munmap", BYTEHOUND_CHOICE},
                                                     CALL_FIELDS,
                                                     {"pointer", BYTEHOUND_ADDRESS},
                                                     {"length", BYTEHOUND_NUMBER},
                                                     {NULL, BYTEHOUND_END},
                                                     {NULL, BYTEHOUND_END}};

/* A call of mmap is the sum of the pieces that it made; one that unmaps is that of the pieces that
 * it ended. What was mapped before the recording has no flags. */
static const char mmaps_sql[] =
    "WITH calls AS (SELECT 1 AS is_mmap, min(mapped_ns) AS at_ns, thread_id, backtrace_id, "
    "min(address) AS address, sum(length) AS length, prot, flags, file_offset, fd FROM mmaps WHERE"
    " flags IS NOT NULL GROUP BY mmap_call_id UNION ALL SELECT NULL, unmapped_ns, unmap_thread_id,"
    " unmap_backtrace_id, min(address), sum(length), 0, 0, 0, 0 FROM mmaps WHERE unmapped_ns IS "
    "NOT NULL GROUP BY process_id, unmapped_ns, unmap_thread_id, unmap_backtrace_id) SELECT "
    "is_mmap, at_ns, (SELECT t.tid FROM threads AS t WHERE t.thread_id = c.thread_id), "
    "backtrace_id, backtrace_id, address, length, prot & 1, prot & 2, prot & 4, prot & 8, prot & "
    "16777216, prot & 33554432, flags & 3 IN (1, 3), flags & 3 = 2, flags & 16, flags & 32, flags "
    "& 67108864, file_offset, ifnull(fd, -1), iif(is_mmap, NULL, 1), at_ns, (SELECT t.tid FROM "
    "threads AS t WHERE t.thread_id = c.thread_id), backtrace_id, backtrace_id, address, length "
    "FROM calls AS c ORDER BY at_ns, is_mmap";

int bytehound_mmaps(struct bytehound *self, struct error *err)
{
    int rc;

    (void)fputs("{\"operations\":", self->out);
    rc = put_array(self, NULL, sqlite3_mprintf("%s", mmaps_sql), mmap_fields, err);
    (void)fputs("}\n", self->out);
    return rc;
}

int bytehound_mallopts(struct bytehound *self, struct error *err)
{
    static const struct bytehound_field fields[] = {CALL_FIELDS,
                                                    {"raw_param", BYTEHOUND_NUMBER},
                                                    {"param", BYTEHOUND_TEXT},
                                                    {"value", BYTEHOUND_NUMBER},
                                                    {"result", BYTEHOUND_NUMBER},
                                                    {NULL, BYTEHOUND_END}};
    int rc = put_array(
        self, NULL,
        sqlite3_mprintf(
            "SELECT m.at_ns, (SELECT t.tid FROM threads AS t WHERE t.thread_id = m.thread_id), "
            "m.backtrace_id, m.backtrace_id, m.parameter, m.parameter_name, m.value, m.result FROM "
            "mallopts AS m WHERE m.call = 'mallopt' ORDER BY m.mallopt_id"),
        fields, err);

    (void)fputc('\n', self->out);
    return rc;
}
