/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/monotonic.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/core/query_watchdog.h"
#include "server/core/recordings.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- exports by the library ---- */

/* Files for other programs: mtrace-query writes those that it knows; the operations for bytehound's
 * replay are written here. The filter is passed on as our own parameters. */
static int ask_export(struct bytehound *self, const char *command, const char *format,
                      struct error *err)
{
    struct exchange *exchange = self->exchange;
    struct bytehound_filter filter;
    struct exchange own = *exchange;
    const struct request asked = {.command = command};
    int rc = bytehound_filter_init(&filter, self, err);

    if (rc == 0 && sqlite3_str_length(filter.more) > 0)
        rc = error_set(err, ERROR_USAGE,
                       "exports do not take jemalloc, from_map and "
                       "group_max_total_usage_first_seen");
    own.n_parameters = 0;
    own.if_none_match = NULL;
    for (size_t i = 0; i < filter.filter.n_values; i++)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){
            filter.filter.values[i].parameter->name, filter.filter.values[i].text};
    if (format)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){"to", format};
    if (!format || strcmp(format, "flamegraph.pl") == 0)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){"measure", "allocated"};
    if (rc == 0)
        rc = request_answer(self->place, self->recording, &asked, &own, err);
    exchange->policy = own.policy;
    exchange->content_type = format ? "text/plain; charset=utf-8" : own.content_type;
    bytehound_filter_done(&filter);
    return rc;
}

static int bytehound_flamegraph(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return ask_export(self, "flamegraph", NULL, err);
}

static int bytehound_collapsed(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return ask_export(self, "export", "flamegraph.pl", err);
}

static int bytehound_heaptrack(struct bytehound *self, const char *rest, struct error *err)
{
    (void)rest;
    return ask_export(self, "export", "heaptrack", err);
}

/* ---- replay ---- */

/*
 * Two words, how many slots and operations there are, then four words for each operation: what,
 * slot, us since the epoch, bytes. The blocks of a chain have one slot, because one of them is live
 * at a time. Where only one of the two blocks of a realloc passes the filter it is an allocation or
 * a free.
 */
static const char operations_sql[] =
    "WITH m AS MATERIALIZED (%s),"
    " o AS (SELECT m.alloc_ns AS at_ns, m.allocation_id AS id, 0 AS is_end,"
    " iif(c.realloc_from_id IN (SELECT allocation_id FROM m), 3, 1) AS operation,"
    " ifnull(c.chain_id, m.allocation_id) AS slot, m.size_bytes AS bytes"
    " FROM m LEFT JOIN chain_rows AS c ON c.allocation_id = m.allocation_id"
    " UNION ALL SELECT m.alloc_ns + m.lifetime_ns, m.allocation_id, 1, 2,"
    " ifnull(c.chain_id, m.allocation_id), 0"
    " FROM m LEFT JOIN chain_rows AS c ON c.allocation_id = m.allocation_id"
    " WHERE m.ended_by IN (1, 3) OR (m.ended_by = 2 AND m.allocation_id NOT IN"
    " (SELECT n.realloc_from_id FROM chain_rows AS n JOIN m ON m.allocation_id = n.allocation_id"
    " WHERE n.realloc_from_id IS NOT NULL)))"
    " SELECT %s FROM o %s";

static int prepare_operations(const struct bytehound *self, const struct bytehound_filter *filter,
                              const char *columns, const char *tail, struct sqlite3_stmt **ret_stmt,
                              struct error *err)
{
    char *rows = bytehound_filter_rows(
        filter, "a.allocation_id, a.alloc_ns, a.lifetime_ns, a.size_bytes, a.ended_by", "");
    char *sql = rows ? sqlite3_mprintf(operations_sql, rows, columns, tail) : NULL;

    sqlite3_free(rows);
    return bytehound_filter_prepare(filter, self, sql, ret_stmt, err);
}

static void put_word(FILE *out, uint64_t word)
{
    (void)fwrite(&word, sizeof(word), 1, out);
}

/* The numbers of slots and operations, then the operations. */
static int put_operations(struct bytehound *self, const struct bytehound_filter *filter,
                          bool is_head, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = is_head ? prepare_operations(self, filter, "ifnull(max(slot) + 1, 0), count(*)", "",
                                          &stmt, err)
                     : prepare_operations(self, filter, "operation, slot, at_ns, bytes",
                                          "ORDER BY at_ns, id, is_end", &stmt, err);

    while (rc == 0 && (rc = rundb_step(&self->database, stmt, err)) == 1) {
        put_word(self->out, (uint64_t)sqlite3_column_int64(stmt, 0));
        put_word(self->out, (uint64_t)sqlite3_column_int64(stmt, 1));
        rc = 0;
        if (is_head)
            continue;
        put_word(self->out,
                 (uint64_t)saturating_add(self->start_unix_ns, sqlite3_column_int64(stmt, 2))
                     / 1000);
        put_word(self->out, (uint64_t)sqlite3_column_int64(stmt, 3));
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int bytehound_replay(struct bytehound *self, const char *rest, struct error *err)
{
    struct bytehound_filter filter;
    int rc = bytehound_filter_init(&filter, self, err);

    (void)rest;
    self->exchange->content_type = "application/octet-stream";
    if (rc == 0)
        rc = bytehound_check_rows(self, err);
    if (rc == 0)
        rc = put_operations(self, &filter, true, err);
    if (rc == 0)
        rc = put_operations(self, &filter, false, err);
    bytehound_filter_done(&filter);
    return rc;
}

/* ---- endpoints ---- */

static const char data[] = "/data/";

enum {
    ID_BYTES = 64
};

static const char *const group_parameters[] = {"generate_graphs", NULL};
static const char *const map_parameters[] = {"id", "generate_graphs", "with_regions",
                                             "with_usage_history", NULL};

/* The components of the path after the recording. */
static const struct bytehound_endpoint endpoints[] = {
    {"timeline", bytehound_timeline, BYTEHOUND_TAKES_NOTHING, NULL, false},
    {"timeline_leaked", bytehound_timeline_leaked, BYTEHOUND_TAKES_NOTHING, NULL, false},
    {"timeline_maps", bytehound_timeline_maps, BYTEHOUND_TAKES_NOTHING, NULL, false},
    {"allocations", bytehound_allocations, BYTEHOUND_TAKES_ROWS, NULL, false},
    {"allocation_groups", bytehound_groups, BYTEHOUND_TAKES_ROWS, group_parameters, false},
    {"maps", bytehound_maps, BYTEHOUND_TAKES_MAPS, map_parameters, false},
    {"backtraces", bytehound_backtraces, BYTEHOUND_TAKES_ROWS, NULL, false},
    {"backtrace", bytehound_backtrace, BYTEHOUND_TAKES_NOTHING, NULL, true},
    {"raw_allocations", bytehound_raw_allocations, BYTEHOUND_TAKES_NOTHING, NULL, false},
    {"tree", bytehound_tree, BYTEHOUND_TAKES_ROWS, NULL, false},
    {"regions", bytehound_regions, BYTEHOUND_TAKES_ROWS, NULL, false},
    {"mallopts", bytehound_mallopts, BYTEHOUND_TAKES_NOTHING, NULL, false},
    {"export/flamegraph", bytehound_flamegraph, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"export/flamegraph.pl", bytehound_collapsed, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"export/heaptrack", bytehound_heaptrack, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"export/replay", bytehound_replay, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"allocation_ascii_tree", bytehound_ascii_tree, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"dynamic_constants", bytehound_dynamic_constants, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"dynamic_statics", bytehound_dynamic_statics, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"dynamic_constants_ascii_tree", bytehound_dynamic_constants, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"dynamic_statics_ascii_tree", bytehound_dynamic_statics, BYTEHOUND_TAKES_ROWS, NULL, true},
    {"allocation_filter_to_sql", bytehound_filter_to_sql, BYTEHOUND_TAKES_ROWS, NULL, false},
    {"allocation_filter_to_script", bytehound_filter_to_sql, BYTEHOUND_TAKES_ROWS, NULL, false},
    {"map_filter_to_sql", bytehound_map_filter_to_sql, BYTEHOUND_TAKES_MAPS, map_parameters, false},
    {"map_filter_to_script", bytehound_map_filter_to_sql, BYTEHOUND_TAKES_MAPS, map_parameters,
     false},
};

/* ---- opening ---- */

static int read_times(struct bytehound *self, struct error *err)
{
    int rc = rundb_get_int64(&self->database,
                             "SELECT start_unix_ns - start_ns FROM processes ORDER BY process_id",
                             &self->start_unix_ns, err);

    return rc == 0 ? rundb_get_int64(&self->database, "SELECT max(end_ns) FROM processes",
                                     &self->end_ns, err)
                   : rc;
}

int bytehound_open(struct bytehound *self, struct error *err)
{
    uint64_t limit_ns = 0;
    int rc = units_parse_duration(self->place->time_limit, &limit_ns, err);

    if (rc != 0)
        return rc;
    self->stop.until_ns = (int64_t)monotonic_now_ns()
                          + (int64_t)(limit_ns < INT64_MAX / 2 ? limit_ns : INT64_MAX / 2);
    rc = rundb_open(&self->database, self->recording->path, &self->stop, err);
    if (rc != 0)
        return rc;
    rc = rundb_offer_views(&self->database, err);
    if (rc == 0)
        rc = rundb_lock(&self->database, err);
    if (rc == 0)
        rc = read_times(self, err);
    database_guard_lift_steps(&self->database.guard);
    return rc;
}

void bytehound_close(struct bytehound *self)
{
    rundb_close(&self->database);
}

int bytehound_check_rows(const struct bytehound *self, struct error *err)
{
    if (self->database.sample_bytes)
        return error_set(
            err, ERROR_USAGE,
            "'%s' was recorded with --sample-bytes, and this view needs single blocks, but each "
            "sample stands for many: use /api",
            self->recording->name);
    if (self->database.is_slim)
        return error_set(err, ERROR_USAGE,
                         "'%s' has no rows of allocations, which this needs: it was imported with "
                         "--slim, or is still recorded",
                         self->recording->name);
    return 0;
}

int bytehound_flag(const struct bytehound *self, const char *name, bool *ret_flag,
                   struct error *err)
{
    const char *value = exchange_parameter(self->exchange, name);
    bool is_yes = value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);

    *ret_flag = is_yes;
    if (!value || is_yes || strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "%s: '%.100s' is neither true nor false", name, value);
}

/* ---- pieces of JSON ---- */

void bytehound_put_timeval(const struct bytehound *self, const char *name, int64_t ns)
{
    int64_t plain = ns > 0 ? ns : 0;

    (void)fprintf(self->out, "\"%s\":{\"secs\":%" PRId64 ",\"fract_nsecs\":%" PRId64 "}", name,
                  plain / 1000000000, plain % 1000000000);
}

void bytehound_put_times(const struct bytehound *self, const char *name, int64_t at_ns)
{
    char relative[64];

    bytehound_put_timeval(self, name, saturating_add(self->start_unix_ns, at_ns));
    (void)fputc(',', self->out);
    (void)snprintf(relative, sizeof(relative), "%s_relative", name);
    bytehound_put_timeval(self, relative, at_ns);
    (void)fprintf(self->out, ",\"%s_p\":%.9g", relative,
                  self->end_ns > 0 ? (double)at_ns / (double)self->end_ns : 0);
}

void bytehound_put_address(const struct bytehound *self, const char *name, uint64_t address)
{
    (void)fprintf(self->out, "\"%s\":%" PRIu64 ",\"%s_s\":\"%016" PRIX64 "\"", name, address, name,
                  address);
}

void bytehound_put_sql(const struct bytehound *self, struct sqlite3_stmt *stmt)
{
    char *sql = sqlite3_expanded_sql(stmt);

    (void)fputs("{\"prologue\":\"\",\"code\":", self->out);
    json_text_put(self->out, sql ? sql : "");
    (void)fputs("}\n", self->out);
    sqlite3_free(sql);
}

/* ---- routes ---- */

bool bytehound_is_asked(const struct exchange *exchange)
{
    return strcmp(exchange->path, "/list") == 0 || strncmp(exchange->path, data, strlen(data)) == 0;
}

static void interrupt(void *context)
{
    struct bytehound *self = context;

    self->stop.is_wanted = true;
}

static int answer_open(struct bytehound *self, const char *rest, struct error *err)
{
    struct watched watched = request_watched(self->exchange, interrupt, self);
    int rc;

    if (!query_watchdog_begin(self->place->watch, &watched))
        return error_set(err, ERROR_INTERRUPTED, "the client has closed the connection");
    rc = bytehound_open(self, err);
    if (rc == 0)
        rc = bytehound_flag(self, "strip_template_args", &self->is_stripped, err);
    if (rc == 0)
        rc = self->endpoint ? self->endpoint->answer(self, rest, err)
                            : bytehound_put_list_item(self, err);
    bytehound_close(self);
    query_watchdog_end(self->place->watch, &watched);
    if (rc != 0)
        request_hide_path(err, self->recording);
    return rc;
}

/* Databases that cannot be read now are omitted. */
static int answer_list(const struct request_place *place, struct exchange *exchange,
                       struct error *err)
{
    const char *separator = "";
    int rc;

    (void)fputc('[', exchange->out);
    for (size_t i = 0; i < place->recordings->n_items; i++) {
        struct bytehound self = {
            .place = place, .recording = &place->recordings->items[i], .exchange = exchange};
        char *item = NULL;
        size_t size = 0;

        self.out = open_memstream(&item, &size);
        if (!self.out)
            return error_set(err, ERROR_NOMEM, "no memory for the list of recordings");
        rc = answer_open(&self, "", err);
        if (fclose(self.out) == 0 && rc == 0 && size > 0) {
            (void)fprintf(exchange->out, "%s%s", separator, item);
            separator = ",\n";
        }
        free(item);
        if (rc == ERROR_INTERRUPTED || rc == ERROR_NOMEM)
            return rc;
    }
    (void)fputs("]\n", exchange->out);
    return 0;
}

/* The first endpoint whose name the path has up to its end or a '/'. */
static const struct bytehound_endpoint *find_endpoint(const char *path, const char **ret_rest)
{
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
        size_t length = strlen(endpoints[i].name);

        if (strncmp(path, endpoints[i].name, length) != 0)
            continue;
        *ret_rest = path + length;
        if (**ret_rest == '\0' || (**ret_rest == '/' && endpoints[i].may_go_on))
            return &endpoints[i];
    }
    return NULL;
}

static int answer_data(const struct request_place *place, struct exchange *exchange,
                       struct error *err)
{
    const char *path = exchange->path + strlen(data);
    size_t length = strcspn(path, "/");
    char id[ID_BYTES] = "";
    const char *rest;
    const struct bytehound_endpoint *endpoint =
        path[length] == '/' ? find_endpoint(path + length + 1, &rest) : NULL;
    struct bytehound self = {.place = place, .exchange = exchange, .out = exchange->out};
    int rc;

    if (!endpoint)
        return error_set(err, ERROR_NOT_FOUND,
                         "there is no '%.200s' in bytehound's interface; docs/rest.md lists it",
                         exchange->path);
    (void)snprintf(id, sizeof(id), "%.*s", (int)length, path);
    self.recording = recordings_find(place->recordings, id);
    if (!self.recording)
        return error_set(err, ERROR_NOT_FOUND,
                         "this server has no recording '%s'; /list has their ids", id);
    self.endpoint = endpoint;
    rc = bytehound_filter_check(&self, err);
    if (rc != 0 || request_is_known(self.recording, NULL, exchange))
        return rc;
    return answer_open(&self, rest, err);
}

int bytehound_answer(const struct request_place *place, struct exchange *exchange,
                     struct error *err)
{
    int rc =
        exchange_check_method(exchange, "GET",
                              "bytehound's interface takes GET only; instead of its scripts use "
                              "SQL: POST /api/v1/RECORDING/sql",
                              err);

    if (rc != 0)
        return rc;
    return strcmp(exchange->path, "/list") == 0 ? answer_list(place, exchange, err)
                                                : answer_data(place, exchange, err);
}
