/* SPDX-License-Identifier: MIT */
/*
 * json: one object whose members are tables, row by row: the recording, its code and stacks, and
 * the allocations that pass the filters, one JSON object each, as in the view `allocations`.
 *
 * The view looks up names, chain and marker for each row, which takes several times as long as
 * reading the row. Here common data is read once, chain links and markers are read in step with the
 * rows, and numbers are written without printf.
 *
 * Members, their order and their values are those of the view. Memory grows with threads and
 * processes only.
 */
#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/export/export_job.h"
#include "queries/filter/filter_sql.h"
#include "queries/render/compressed_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- allocations ---- */

enum {
    KINDS = 32,
    NAME_BYTES = 64,
    BUFFER_BYTES = 1 << 16,
    LONGEST_ROW = 2048 /* 24 names, 22 numbers of 20 digits and two names */
};

enum row_column {
    ALLOCATION_ID,
    ALLOC_NS,
    LIFETIME_NS,
    ADDRESS,
    SIZE_BYTES,
    SLACK_BYTES,
    BACKTRACE_ID,
    FREE_BACKTRACE_ID,
    THREAD_ID,
    OTHER_FREE_THREAD_ID,
    CALL_CODE,
    ENDED_BY,
    HEAP_ID,
    INTERVENING,
    ROW_COLUMNS
};

static const char row_columns[] =
    "a.allocation_id, a.alloc_ns, a.lifetime_ns, a.address, a.size_bytes, a.slack_bytes,"
    " a.backtrace_id, a.free_backtrace_id, a.thread_id, a.other_free_thread_id, a.call_code,"
    " a.ended_by, a.heap_id, a.intervening_allocations";

static const char *const endings[] = {NULL, "\"free\"", "\"realloc\"", "\"unseen\"", "\"exec\""};

struct number {
    int64_t value;
    bool is_known;
};

struct rows {
    const struct export_job *job;
    const struct rundb *database;
    FILE *out;
    char *buffer, *at;
    char kinds[KINDS][NAME_BYTES]; /* quoted; "" is unknown */
    int64_t *process_of;           /* by thread_id */
    size_t n_threads, n_processes;
    int64_t *marker_of; /* by process_id: the highest so far; 0: none */
    struct sqlite3_stmt *markers, *chains, *groups;
    int64_t marker_ns, link_id, charged_id; /* of the row that is next; INT64_MAX: no more */
};

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for allocations");
}

/* ---- what rows have in common ---- */

static int read_kinds(struct rows *rows, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(rows->database, "SELECT kind, json_quote(name) FROM kinds", &stmt, err);

    while (rc == 0 && (rc = rundb_step(rows->database, stmt, err)) == 1) {
        int64_t kind = sqlite3_column_int64(stmt, 0);
        rc = 0;
        if (kind >= 0 && kind < KINDS && sqlite3_column_bytes(stmt, 1) < NAME_BYTES)
            memcpy(rows->kinds[kind], rundb_text(stmt, 1),
                   (size_t)sqlite3_column_bytes(stmt, 1) + 1);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int read_threads(struct rows *rows, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = database_ids(rows->database->handle, "threads", "thread_id", &rows->n_threads, err);

    if (rc == 0)
        rc = database_ids(rows->database->handle, "processes", "process_id", &rows->n_processes,
                          err);
    if (rc != 0)
        return rc;
    rows->process_of = calloc(rows->n_threads, sizeof(*rows->process_of));
    rows->marker_of = calloc(rows->n_processes, sizeof(*rows->marker_of));
    if (!rows->process_of || !rows->marker_of)
        return no_memory(err);
    rc = rundb_prepare(rows->database, "SELECT thread_id, process_id FROM threads", &stmt, err);
    while (rc == 0 && (rc = rundb_step(rows->database, stmt, err)) == 1) {
        rows->process_of[database_id(stmt, 0, rows->n_threads)] =
            database_id(stmt, 1, rows->n_processes);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- what goes along with the rows, in their order ---- */

/* 0: there is a row, or no more of them, which reads as INT64_MAX. */
static int step(const struct rows *rows, struct sqlite3_stmt *stmt, int64_t *ret_key,
                struct error *err)
{
    int rc = rundb_step(rows->database, stmt, err);

    *ret_key = rc == 1 ? sqlite3_column_int64(stmt, 0) : INT64_MAX;
    return rc < 0 ? rc : 0;
}

static int open_companions(struct rows *rows, struct error *err)
{
    int rc = rundb_prepare(rows->database,
                           "SELECT at_ns, marker_id, process_id FROM markers ORDER BY at_ns",
                           &rows->markers, err);

    if (rc == 0)
        rc = rundb_prepare(rows->database,
                           "SELECT allocation_id, chain_id, chain_position, realloc_from_id"
                           " FROM chain_rows ORDER BY allocation_id",
                           &rows->chains, err);
    if (rc == 0)
        rc = rundb_prepare(rows->database,
                           "SELECT allocation_id, group_id, free_group_id FROM group_rows"
                           " ORDER BY allocation_id",
                           &rows->groups, err);
    if (rc == 0)
        rc = step(rows, rows->markers, &rows->marker_ns, err);
    if (rc == 0)
        rc = step(rows, rows->groups, &rows->charged_id, err);
    return rc == 0 ? step(rows, rows->chains, &rows->link_id, err) : rc;
}

static int pass_markers(struct rows *rows, int64_t until_ns, struct error *err)
{
    int rc = 0;

    /* Stepping a finished statement would restart it, and INT64_MAX alone does not show its end:
     * until_ns may be as high. */
    while (rc == 0 && sqlite3_stmt_busy(rows->markers) && rows->marker_ns <= until_ns) {
        int64_t marker_id = sqlite3_column_int64(rows->markers, 1);
        int64_t process_id = sqlite3_column_int64(rows->markers, 2);
        if (process_id > 0 && (uint64_t)process_id < rows->n_processes
            && rows->marker_of[process_id] < marker_id)
            rows->marker_of[process_id] = marker_id;
        rc = step(rows, rows->markers, &rows->marker_ns, err);
    }
    return rc;
}

/* Advances to the row of this allocation or the first one after it. */
static int pass(const struct rows *rows, struct sqlite3_stmt *stmt, int64_t *id,
                int64_t allocation_id, struct error *err)
{
    int rc = 0;

    while (rc == 0 && *id < allocation_id)
        rc = step(rows, stmt, id, err);
    return rc;
}

/* ---- writing ---- */

/* Inline, so that lengths of literals are constants. */
static inline __attribute__((always_inline)) void put_text(struct rows *rows, const char *text)
{
    size_t n = strlen(text);

    memcpy(rows->at, text, n);
    rows->at += n;
}

static void put_digits(struct rows *rows, int64_t value)
{
    char digits[24];
    char *first = digits + sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do
        *--first = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--first = '-';
    memcpy(rows->at, first, (size_t)(digits + sizeof(digits) - first));
    rows->at += digits + sizeof(digits) - first;
}

static inline __attribute__((always_inline)) void put_number(struct rows *rows, const char *name,
                                                             struct number number)
{
    put_text(rows, name);
    if (number.is_known)
        put_digits(rows, number.value);
    else
        put_text(rows, "null");
}

static struct number known(int64_t value)
{
    return (struct number){value, true};
}

static struct number column(struct sqlite3_stmt *row, int index)
{
    int64_t value = sqlite3_column_int64(row, index);

    /* NULL reads as 0, so the type is checked only for 0. */
    return (struct number){value, value != 0 || sqlite3_column_type(row, index) != SQLITE_NULL};
}

static struct number sum(struct number a, struct number b)
{
    return (struct number){saturating_add(a.value, b.value), a.is_known && b.is_known};
}

static struct number unless_zero(int64_t value)
{
    return (struct number){value, value != 0};
}

static void put_allocation(struct rows *rows, const struct number *row, int64_t process_id)
{
    unsigned call = (unsigned)row[CALL_CODE].value;
    const char *kind = rows->kinds[call % KINDS];

    put_number(rows, "{\"allocation_id\":", row[ALLOCATION_ID]);
    put_number(rows, ",\"process_id\":", unless_zero(process_id));
    put_number(rows, ",\"thread_id\":", row[THREAD_ID]);
    put_text(rows, ",\"kind\":");
    put_text(rows, *kind ? kind : "null");
    put_number(rows, ",\"address\":", row[ADDRESS]);
    put_number(rows, ",\"size_bytes\":", row[SIZE_BYTES]);
    put_number(rows, ",\"usable_bytes\":", sum(row[SIZE_BYTES], row[SLACK_BYTES]));
    put_number(rows, ",\"alignment\":",
               unless_zero(call >= KINDS ? INT64_C(1) << (call / KINDS) % 63 : 0));
}

static void put_free_event(struct rows *rows, const struct number *row)
{
    bool is_other = row[OTHER_FREE_THREAD_ID].is_known;
    struct number freed_by = row[is_other ? OTHER_FREE_THREAD_ID : THREAD_ID];
    int64_t ended_by = row[ENDED_BY].value;
    bool has_ending = ended_by > 0 && (size_t)ended_by < sizeof(endings) / sizeof(endings[0]);

    freed_by.is_known &= ended_by == 1 || ended_by == 2;
    put_number(rows, ",\"alloc_ns\":", row[ALLOC_NS]);
    put_number(rows, ",\"free_ns\":", sum(row[ALLOC_NS], row[LIFETIME_NS]));
    put_number(rows, ",\"lifetime_ns\":", row[LIFETIME_NS]);
    put_number(rows, ",\"free_thread_id\":", freed_by);
    put_number(rows, ",\"backtrace_id\":", row[BACKTRACE_ID]);
    put_number(rows, ",\"free_backtrace_id\":", row[FREE_BACKTRACE_ID]);
    put_text(rows, ",\"ended_by\":");
    put_text(rows, has_ending ? endings[ended_by] : "null");
    put_number(rows, ",\"is_leaked\":", known(ended_by == 0));
    put_number(rows, ",\"intervening_allocations\":", row[INTERVENING]);
}

static void put_links(struct rows *rows, const struct number *row, int64_t process_id)
{
    struct number link[3] = {{0, false}, {0, false}, {0, false}};

    if (rows->link_id == row[ALLOCATION_ID].value)
        for (int i = 0; i < 3; i++)
            link[i] = column(rows->chains, i + 1);
    put_number(rows, ",\"chain_id\":", link[0]);
    put_number(rows, ",\"chain_position\":", link[1]);
    put_number(rows, ",\"realloc_from_id\":", link[2]);
    put_number(rows, ",\"heap_id\":", row[HEAP_ID]);
    put_number(rows, ",\"marker_id\":", unless_zero(rows->marker_of[process_id]));
}

/* NULL means the root group. */
static void put_groups(struct rows *rows, const struct number *row)
{
    bool is_said = rows->charged_id == row[ALLOCATION_ID].value;
    bool is_by_call = row[ENDED_BY].value == 1 || row[ENDED_BY].value == 2;
    struct number free_group = is_said ? column(rows->groups, 2) : known(1);

    free_group.is_known &= is_by_call;
    put_number(rows, ",\"group_id\":", is_said ? column(rows->groups, 1) : known(1));
    put_number(rows, ",\"free_group_id\":", free_group);
    put_text(rows, "}");
}

/* Stops at the first write error instead of after millions of rows. */
static int flush(struct rows *rows, struct error *err)
{
    size_t n = (size_t)(rows->at - rows->buffer);

    rows->at = rows->buffer;
    return fwrite(rows->buffer, 1, n, rows->out) == n
               ? 0
               : export_job_write_error(rows->job, errno, err);
}

static int put_row(struct rows *rows, const struct number *row, struct error *err)
{
    int64_t thread_id = row[THREAD_ID].value;
    bool is_known = thread_id > 0 && (uint64_t)thread_id < rows->n_threads;
    int64_t process_id = is_known ? rows->process_of[thread_id] : 0;
    int rc = pass_markers(rows, row[ALLOC_NS].value, err);

    if (rc == 0)
        rc = pass(rows, rows->chains, &rows->link_id, row[ALLOCATION_ID].value, err);
    if (rc == 0)
        rc = pass(rows, rows->groups, &rows->charged_id, row[ALLOCATION_ID].value, err);
    if (rc != 0)
        return rc;
    if (rows->at + LONGEST_ROW > rows->buffer + BUFFER_BYTES)
        rc = flush(rows, err);
    if (rc != 0)
        return rc;
    put_allocation(rows, row, process_id);
    put_free_event(rows, row);
    put_links(rows, row, process_id);
    put_groups(rows, row);
    return 0;
}

static int put_rows(struct rows *rows, struct sqlite3_stmt *stmt, struct error *err)
{
    const char *separator = "[\n ";
    int rc = 0;

    while (rc == 0 && (rc = rundb_step(rows->database, stmt, err)) == 1) {
        struct number row[ROW_COLUMNS];
        for (int i = 0; i < ROW_COLUMNS; i++)
            row[i] = column(stmt, i);
        put_text(rows, separator);
        rc = put_row(rows, row, err);
        separator = ",\n ";
    }
    if (rc == 0)
        rc = flush(rows, err);
    (void)fputs(*separator == '[' ? "[\n]\n" : "\n]\n", rows->out);
    return rc;
}

static int prepare(const struct query *query, int64_t process_id, struct sqlite3_stmt **ret_stmt,
                   struct error *err)
{
    struct filter_sql filter;
    char *sql = NULL;
    int rc = filter_sql_init(&filter, &query->database, &query->options->filter, process_id,
                             query->options->site_id, err);

    *ret_stmt = NULL;
    if (rc == 0) {
        sql = filter_sql_rows_by_id(&filter, row_columns);
        rc = sql ? rundb_prepare(&query->database, sql, ret_stmt, err) : no_memory(err);
    }
    if (rc == 0)
        filter_sql_bind(&filter, *ret_stmt);
    sqlite3_free(sql);
    filter_sql_done(&filter);
    return rc;
}

/* Writes the array with its brackets. */
static int export_json_rows_put(const struct export_job *job, FILE *out, struct error *err)
{
    struct rows rows = {.job = job, .database = &job->query->database, .out = out};
    struct sqlite3_stmt *stmt;
    int rc = prepare(job->query, job->process_id, &stmt, err);

    if (rc == 0 && !query_show_sql(job->query, stmt)) {
        rows.buffer = rows.at = malloc(BUFFER_BYTES);
        rc = rows.buffer ? read_kinds(&rows, err) : no_memory(err);
        if (rc == 0)
            rc = read_threads(&rows, err);
        if (rc == 0)
            rc = open_companions(&rows, err);
        if (rc == 0)
            rc = put_rows(&rows, stmt, err);
    }
    sqlite3_finalize(stmt);
    sqlite3_finalize(rows.markers);
    sqlite3_finalize(rows.chains);
    sqlite3_finalize(rows.groups);
    free(rows.process_of);
    free(rows.marker_of);
    free(rows.buffer);
    return rc;
}

/* ---- the document ---- */

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

static int put_table(const struct export_job *job, FILE *out, struct sqlite3_stmt *stmt,
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
    rc = put_table(job, out, stmt, member->name, err);
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
