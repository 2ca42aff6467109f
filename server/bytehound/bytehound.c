/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"
#include "lib/base/units.h"
#include "queries/db/hidden_paths.h"
#include "server/bytehound/bytehound_filter.h"
#include "server/bytehound/bytehound_parts.h"
#include "server/core/query_watchdog.h"
#include "server/core/recordings.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- endpoints ---- */

static const char data[] = "/data/";
static const char text[] = "text/plain; charset=utf-8";

enum {
    ID_BYTES = 64
};

static const struct exchange_parameter of_allocated[] = {{"measure", "allocated"}, {NULL, NULL}};
static const struct exchange_parameter collapsed[] = {
    {"to", "flamegraph.pl"}, {"measure", "allocated"}, {NULL, NULL}};
static const struct exchange_parameter heaptrack[] = {{"to", "heaptrack"}, {NULL, NULL}};
static const struct exchange_parameter whole_tree[] = {
    {"format", "table"}, {"measure", "allocated"}, {"min_share", "0%"}, {NULL, NULL}};

/* The components of the path after the recording. */
static const struct bytehound_endpoint endpoints[] = {
    {.name = "timeline", bytehound_timeline},
    {.name = "timeline_leaked", bytehound_timeline_leaked},
    {.name = "timeline_maps", bytehound_timeline_maps},
    {.name = "allocations", bytehound_allocations, .takes_filter = true},
    {.name = "allocation_groups", bytehound_groups, .takes_filter = true},
    {.name = "mmaps", bytehound_mmaps},
    {.name = "mallopts", bytehound_mallopts},
    {.name = "export/flamegraph",
     .command = "flamegraph",
     .fixed = of_allocated,
     .content_type = "image/svg+xml",
     .takes_filter = true,
     .may_go_on = true},
    {.name = "export/flamegraph.pl",
     .command = "export",
     .fixed = collapsed,
     .content_type = text,
     .takes_filter = true,
     .may_go_on = true},
    {.name = "export/heaptrack",
     .command = "export",
     .fixed = heaptrack,
     .content_type = text,
     .takes_filter = true,
     .may_go_on = true},
    {.name = "allocation_ascii_tree",
     .command = "tree",
     .fixed = whole_tree,
     .content_type = text,
     .takes_filter = true,
     .may_go_on = true},
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

/* Opens the database with our views and reads its times. Close it also after a failure. */
static int open_database(struct bytehound *self, struct error *err)
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
    if (self->place->is_confidential)
        rc = hidden_paths_install(&self->database, err);
    if (rc == 0)
        rc = rundb_offer_views(&self->database, err);
    if (rc == 0)
        rc = rundb_lock(&self->database, err);
    if (rc == 0)
        rc = read_times(self, err);
    database_guard_lift_steps(&self->database.guard);
    return rc;
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

/* ---- commands ---- */

/* A command of mtrace-query answers, with the filter as its own parameters. */
static int ask_command(struct bytehound *self, const struct bytehound_filter *filter,
                       struct error *err)
{
    struct exchange *exchange = self->exchange;
    struct exchange own = *exchange;
    const struct request asked = {.command = self->endpoint->command};
    int rc;

    own.n_parameters = 0;
    own.if_none_match = NULL;
    for (size_t i = 0; i < filter->filter.n_values; i++)
        own.parameters[own.n_parameters++] = (struct exchange_parameter){
            filter->filter.values[i].parameter->name, filter->filter.values[i].text};
    for (const struct exchange_parameter *fixed = self->endpoint->fixed; fixed->name; fixed++)
        own.parameters[own.n_parameters++] = *fixed;
    rc = request_answer(self->place, self->recording, &asked, &own, err);
    exchange->policy = own.policy;
    return rc;
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

/* Asks a function of ours; for a command, reads only the filter, which needs the times. */
static int answer_open(struct bytehound *self, struct bytehound_filter *filter, struct error *err)
{
    struct watched watched = query_watchdog_entry(self->exchange, interrupt, self);
    int rc;

    if (!query_watchdog_begin(self->place->watch, &watched))
        return error_set(err, ERROR_INTERRUPTED, "the client has closed the connection");
    rc = open_database(self, err);
    if (rc == 0 && !self->endpoint)
        rc = bytehound_list_item(self, err);
    else if (rc == 0)
        rc = self->endpoint->answer ? self->endpoint->answer(self, err)
                                    : bytehound_filter_read(filter, self, err);
    rundb_close(&self->database);
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
        rc = answer_open(&self, NULL, err);
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
static const struct bytehound_endpoint *find_endpoint(const char *path)
{
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(endpoints[0]); i++) {
        size_t length = strlen(endpoints[i].name);

        if (strncmp(path, endpoints[i].name, length) != 0)
            continue;
        if (path[length] == '\0' || (path[length] == '/' && endpoints[i].may_go_on))
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
    const struct bytehound_endpoint *endpoint =
        path[length] == '/' ? find_endpoint(path + length + 1) : NULL;
    struct bytehound self = {.place = place, .exchange = exchange, .out = exchange->out};
    struct bytehound_filter filter;
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
    rc = bytehound_filter_read(&filter, &self, err);
    if (rc != 0 || request_is_known(self.recording, NULL, exchange))
        return rc;
    if (endpoint->content_type)
        exchange->content_type = endpoint->content_type;
    rc = answer_open(&self, &filter, err);
    return rc == 0 && endpoint->command ? ask_command(&self, &filter, err) : rc;
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
