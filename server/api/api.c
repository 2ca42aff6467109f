/* SPDX-License-Identifier: MIT */
#include "server/api/api.h"

#include "lib/base/error.h"
#include "server/api/api_meta.h"
#include "server/api/openapi.h"
#include "server/api/source_text.h"
#include "server/api/values.h"
#include "server/core/recordings.h"
#include "server/core/request.h"
#include "server/http/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- events ---- */

enum {
    LOOK_MS = 200,
    LOOKS_PER_COMMENT = 25,
};

/* The last state of one recording that was sent to a client. */
struct reported {
    struct stat database;
    bool is_growing;
    bool is_any;
};

static void emit(const struct recording *recording, const char *event, bool is_growing, FILE *out)
{
    struct recording now;

    recordings_read_again(recording, &now);
    (void)fprintf(
        out,
        "event: %s\ndata: {\"recording\":\"%s\",\"is_growing\":%s,\"duration_ns\":%" PRId64 "}\n\n",
        event, recording->id, is_growing ? "true" : "false", now.duration_ns);
    recordings_read_done(&now);
}

static void look(const struct recording *recording, struct reported *reported, FILE *out)
{
    bool is_growing = recording_is_growing(recording); /* before the file is looked at */
    struct stat now = reported->database;

    (void)stat(recording->path, &now);
    if (!reported->is_any || recordings_file_has_changed(&now, &reported->database))
        emit(recording, "data", is_growing, out);
    if (reported->is_any && reported->is_growing && !is_growing)
        emit(recording, "end", is_growing, out);
    *reported = (struct reported){.database = now, .is_growing = is_growing, .is_any = true};
}

static void emit_until_disconnected(const struct recordings *recordings, struct reported *reported,
                                    struct exchange *exchange)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    int n_looks = 0;

    while (!exchange->is_abandoned(exchange->client) && !ferror(exchange->out)) {
        for (size_t i = 0; i < recordings->n_items; i++)
            look(&recordings->items[i], &reported[i], exchange->out);
        if (++n_looks % LOOKS_PER_COMMENT == 0)
            (void)fputs(":\n\n", exchange->out);
        (void)fflush(exchange->out);
        (void)nanosleep(&pause, NULL);
    }
}

static int live_answer(const struct recordings *recordings, struct exchange *exchange,
                       struct error *err)
{
    struct reported *reported = calloc(recordings->n_items + 1, sizeof(*reported));

    if (!reported)
        return error_set(err, ERROR_NOMEM, "no memory for events");
    exchange->content_type = "text/event-stream";
    exchange->send_now(exchange->client);
    emit_until_disconnected(recordings, reported, exchange);
    free(reported);
    return 0;
}

/* ---- requests ---- */

static const char prefix[] = "/api/v1";

enum {
    NAME_BYTES = 64
};

/* The components of /api/v1/ID/COMMAND. */
struct target {
    char id[NAME_BYTES];
    char command[NAME_BYTES];
};

/* Copies the next component of the path; false if it is empty or too long. */
static bool take_piece(const char **path, char *ret_piece)
{
    size_t length;

    if (**path != '/')
        return false;
    length = strcspn(++*path, "/");
    if (length == 0 || length >= NAME_BYTES)
        return false;
    memcpy(ret_piece, *path, length);
    ret_piece[length] = '\0';
    *path += length;
    return true;
}

static int parse_target(const char *path, struct target *ret_target, struct error *err)
{
    const char *at = path + strlen(prefix);

    if (!take_piece(&at, ret_target->id) || !take_piece(&at, ret_target->command) || *at)
        return error_set(err, ERROR_NOT_FOUND, "'%s' is not /api/v1/RECORDING/COMMAND", path);
    return 0;
}

/* The notes of a command, or without a command those that hold for all answers. */
static int answer_notes(const struct request_place *place, const struct recording *recording,
                        struct exchange *exchange, struct error *err)
{
    static const char *const own[] = {"command", NULL};
    const char *command = exchange_parameter(exchange, "command");
    const struct request asked = {.command = command ? command : "processes",
                                  .own = own,
                                  .is_json = true,
                                  .is_of_notes = true};

    return request_answer(place, recording, &asked, exchange, err);
}

/* Routes that are not commands of mtrace-query. */
static const struct resource {
    const char *name;
    int (*answer)(const struct request_place *place, const struct recording *recording,
                  struct exchange *exchange, struct error *err);
} resources[] = {
    {"values", values_answer},
    {"source", source_text_answer},
    {"notes", answer_notes},
};

static int answer_target(const struct request_place *place, const struct recording *recording,
                         const struct target *target, struct exchange *exchange, struct error *err)
{
    const struct request asked = {.command = target->command};

    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
        if (strcmp(resources[i].name, target->command) == 0)
            return resources[i].answer(place, recording, exchange, err);
    return request_answer(place, recording, &asked, exchange, err);
}

bool api_is_asked(const struct exchange *exchange)
{
    return strncmp(exchange->path, "/api/", strlen("/api/")) == 0;
}

static int check_method(struct exchange *exchange, const char *command, struct error *err)
{
    bool is_sql = strcmp(command, "sql") == 0;
    char use[NAME_BYTES + 64];

    (void)snprintf(use, sizeof(use), "%s needs the method %s", command,
                   is_sql ? "POST, the statement is the body" : "GET");
    return exchange_check_method(exchange, is_sql ? "POST" : "GET", use, err);
}

/* Routes that concern no recording. */
static bool is_general(const char *path)
{
    return strcmp(path, prefix) == 0 || strcmp(path, "/api/v1/") == 0
           || strcmp(path, "/api/v1/openapi.json") == 0 || strcmp(path, "/api/v1/events") == 0;
}

static int answer_general(const struct request_place *place, struct exchange *exchange,
                          struct error *err)
{
    int rc = check_method(exchange, exchange->path, err);

    if (rc != 0)
        return rc;
    if (strcmp(exchange->path, "/api/v1/events") == 0)
        return live_answer(place->recordings, exchange, err);
    if (strcmp(exchange->path, "/api/v1/openapi.json") == 0)
        openapi_print(exchange->out);
    else
        api_meta_print(exchange->out, place->recordings, place->is_confidential);
    return 0;
}

int api_answer(const struct request_place *place, struct exchange *exchange, struct error *err)
{
    const struct recording *recording;
    struct target target;
    int rc;

    if (is_general(exchange->path))
        return answer_general(place, exchange, err);
    if (strncmp(exchange->path, prefix, strlen(prefix)) != 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no '%s'; the interface is /api/v1",
                         exchange->path);
    rc = parse_target(exchange->path, &target, err);
    if (rc == 0)
        rc = check_method(exchange, target.command, err);
    if (rc != 0)
        return rc;
    recording = recordings_find(place->recordings, target.id);
    if (!recording)
        return error_set(err, ERROR_NOT_FOUND,
                         "this server has no recording '%s'; /api/v1 lists them", target.id);
    return answer_target(place, recording, &target, exchange, err);
}
