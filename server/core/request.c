/* SPDX-License-Identifier: MIT */
#include "server/core/request.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "queries/api/queries_parameters.h"
#include "server/core/recordings.h"
#include "server/core/statement.h"
#include "server/http/exchange.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* ---- parameters that a client may use ---- */

/* The canonical name: fail-if becomes fail_if. */
static const char *known_name(const char *name)
{
    struct queries_parameter parameter;
    long index = queries_find_parameter(name, strlen(name));

    return index >= 0 && queries_parameter_at((size_t)index, &parameter) ? parameter.name : name;
}

bool request_allows_parameter(const char *name)
{
    /* Parameters of the command line, and limits that a client must not change. */
    static const char *const refused[] = {"output",     "force", "about", "fail_if", "wide",
                                          "time_limit", "help",  "usage", "version", NULL};
    const char *known = known_name(name);

    for (const char *const *at = refused; *at; at++)
        if (strcmp(*at, known) == 0)
            return false;
    return !queries_names_file(known);
}

/* ---- what the client has already ---- */

static void add_text(XXH3_state_t *state, const char *text)
{
    (void)XXH3_64bits_update(state, text, strlen(text) + 1);
}

/* A database is replaced as a whole or grows: both change its stat. */
static void add_file(XXH3_state_t *state, const struct recording *recording)
{
    struct stat status = {0};
    int64_t words[6];

    if (!recording)
        return;
    (void)stat(recording->path, &status);
    words[0] = (int64_t)status.st_dev;
    words[1] = (int64_t)status.st_ino;
    words[2] = status.st_size;
    words[3] = status.st_mtim.tv_sec;
    words[4] = status.st_mtim.tv_nsec;
    words[5] = status.st_ctim.tv_nsec;
    (void)XXH3_64bits_update(state, words, sizeof(words));
}

bool request_is_known(const struct recording *recording, const struct recording *other,
                      struct exchange *exchange)
{
    XXH3_state_t *state = XXH3_createState();
    char etag[EXCHANGE_ETAG_BYTES - 2];

    if (!state)
        return false;
    (void)XXH3_64bits_reset(state);
    add_text(state, MTRACE_VERSION);
    add_file(state, recording);
    add_file(state, other);
    add_text(state, exchange->path);
    for (size_t i = 0; i < exchange->n_parameters; i++) {
        if (strcmp(exchange->parameters[i].name, "token") == 0)
            continue;
        add_text(state, exchange->parameters[i].name);
        add_text(state, exchange->parameters[i].value);
    }
    if (exchange->body)
        (void)XXH3_64bits_update(state, exchange->body, exchange->body_bytes);
    (void)snprintf(etag, sizeof(etag), "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    (void)XXH3_freeState(state);
    return exchange_is_known(exchange, etag);
}

/* ---- the query ---- */

static bool is_own(const struct request *asked, const char *name)
{
    if (strcmp(name, "token") == 0 || (asked->is_json && strcmp(name, "format") == 0))
        return true;
    for (const char *const *own = asked->own; own && *own; own++)
        if (strcmp(*own, name) == 0)
            return true;
    return false;
}

/* A query, and its parameters as names and values, for the process that runs a statement. */
struct draft {
    struct query_request *request;
    const char *pairs[2 * (EXCHANGE_MAX_PARAMETERS + 5)];
    size_t n_pairs;
};

static int give(struct draft *draft, const char *name, const char *value, struct error *err)
{
    draft->pairs[2 * draft->n_pairs] = name;
    draft->pairs[2 * draft->n_pairs + 1] = value;
    draft->n_pairs++;
    return strcmp(name, "argument") == 0 ? queries_add_argument(draft->request, value, err)
                                         : queries_set(draft->request, name, value, err);
}

static bool is_about_rows(const char *name)
{
    return strcmp(name, "format") == 0 || strcmp(name, "count") == 0 || strcmp(name, "skip") == 0;
}

static int set_parameter(struct draft *draft, const struct request *asked, const char *name,
                         const char *value, struct error *err)
{
    bool is_argument = strcmp(name, "argument") == 0;

    if (is_own(asked, name) || (is_argument && asked->argument && !asked->is_of_rows))
        return 0;
    if (asked->is_of_rows && !is_about_rows(name))
        return error_set(err, ERROR_USAGE, "unknown parameter '%.100s'", name);
    if (!request_allows_parameter(name))
        return error_set(err, ERROR_USAGE, "'%s' is for the command line only", name);
    return give(draft, name, is_argument || *value ? value : "yes", err);
}

static int set_parameters(struct draft *draft, const struct request *asked,
                          const struct exchange *exchange, struct error *err)
{
    int rc = asked->argument ? give(draft, "argument", asked->argument, err) : 0;

    for (size_t i = 0; i < exchange->n_parameters && rc == 0; i++)
        rc = set_parameter(draft, asked, exchange->parameters[i].name,
                           exchange->parameters[i].value, err);
    return rc;
}

static void choose_type(struct exchange *exchange, const struct command *command)
{
    const char *format = exchange_parameter(exchange, "format");

    if (exchange_parameter(exchange, "show_sql") || (format && strcmp(format, "table") == 0)) {
        exchange->content_type = "text/plain; charset=utf-8";
    } else if (command->draws) {
        exchange->content_type = "image/svg+xml";
        exchange->policy = EXCHANGE_POLICY_PICTURE;
    } else if (format && strcmp(format, "csv") == 0) {
        exchange->content_type = "text/csv; charset=utf-8; header=present";
    }
}

static int make_request(const struct request_place *place, struct draft *draft,
                        const struct command *command, const struct recording *recording,
                        const struct request *asked, struct exchange *exchange, struct error *err)
{
    bool is_json = asked->is_json || (!command->draws && !exchange_parameter(exchange, "format"));
    int rc = queries_set_database(draft->request, recording->path, err);

    queries_set_command(draft->request, command);
    if (!asked->is_json)
        choose_type(exchange, command);
    if (rc == 0 && is_json)
        rc = give(draft, "format", "json", err);
    if (rc == 0 && place->is_confidential)
        rc = give(draft, "confidential", "yes", err);
    if (rc == 0 && exchange->body && !asked->argument)
        rc = give(draft, "argument", exchange->body, err);
    return rc == 0 ? set_parameters(draft, asked, exchange, err) : rc;
}

static bool receive(void *context, const char *data, size_t size)
{
    const struct exchange *exchange = context;

    return !exchange->is_abandoned(exchange->client)
           && fwrite(data, 1, size, exchange->out) == size;
}

static void interrupt_request(void *request)
{
    queries_interrupt(request);
}

/* Runs the query under the watchdog. */
static int ask_in_time(const struct request_place *place, struct query_request *request,
                       const struct request *asked, struct exchange *exchange, struct error *err)
{
    const struct queries_output output = {.write = receive, .context = exchange};
    struct watched watched = query_watchdog_entry(exchange, interrupt_request, request);
    int rc = queries_set(request, "time_limit", place->time_limit, err);

    if (rc != 0)
        return rc;
    if (!query_watchdog_begin(place->watch, &watched))
        return error_set(err, ERROR_INTERRUPTED, "the client has closed the connection");
    rc = asked->is_of_notes ? queries_run_notes(request, err) : queries_run(request, &output, err);
    query_watchdog_end(place->watch, &watched);
    return rc;
}

/* The name of a recording in place of its path (QU-3). */
void request_hide_path(struct error *err, const struct recording *recording)
{
    char text[sizeof(err->text)];
    size_t length = strlen(recording->path);
    char *at = length > 0 ? strstr(err->text, recording->path) : NULL;

    while (at) {
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - err->text), err->text,
                       recording->name, at + length);
        at += strlen(recording->name);
        (void)snprintf(err->text, sizeof(err->text), "%s", text);
        at = at < err->text + strlen(err->text) ? strstr(at, recording->path) : NULL;
    }
}

/* diff has the id of a second recording as its argument. */
static int find_other(const struct request_place *place, const struct request *asked,
                      const struct exchange *exchange, const struct recording **ret_other,
                      struct error *err)
{
    const char *id = exchange_parameter(exchange, "argument");

    *ret_other = NULL;
    if (strcmp(asked->command, "diff") != 0 || !id)
        return 0;
    *ret_other = recordings_find(place->recordings, id);
    if (*ret_other)
        return 0;
    return error_set(err, ERROR_NOT_FOUND,
                     "argument: this server has no recording '%s'; /api/v1 lists them", id);
}

static int ask_own_sql(const struct request_place *place, const struct recording *recording,
                       const struct request *asked, const struct draft *draft,
                       struct exchange *exchange, struct error *err)
{
    const struct statement statement = {.program = place->program,
                                        .time_limit = place->sql_limit,
                                        .database = recording->path,
                                        .pairs = draft->pairs,
                                        .n_pairs = draft->n_pairs,
                                        .is_of_notes = asked->is_of_notes};
    int rc = queries_check(draft->request, err);

    return rc == 0 ? statement_run(place->watch, &statement, exchange, err) : rc;
}

/* SQL that the client wrote runs in a process of its own, and so do its notes, for which SQLite
 * prepares it. */
static int ask(const struct request_place *place, const struct command *command,
               const struct recording *recording, const struct request *asked,
               struct exchange *exchange, struct error *err)
{
    bool is_own_sql = !asked->argument && strcmp(command->name, "sql") == 0;
    struct statement_notes notes = {exchange->out, "["};
    struct draft draft = {.request =
                              queries_new(asked->is_of_notes ? statement_add_note : NULL, &notes)};
    int rc;

    if (!draft.request)
        return error_set(err, ERROR_NOMEM, "no memory for a request");
    rc = make_request(place, &draft, command, recording, asked, exchange, err);
    if (rc == 0)
        rc = is_own_sql ? ask_own_sql(place, recording, asked, &draft, exchange, err)
                        : ask_in_time(place, draft.request, asked, exchange, err);
    if (rc == 0 && asked->is_of_notes && !is_own_sql)
        statement_end_notes(&notes);
    queries_free(draft.request);
    return rc;
}

int request_answer(const struct request_place *place, const struct recording *recording,
                   const struct request *asked, struct exchange *exchange, struct error *err)
{
    const struct command *command;
    const struct recording *other;
    struct request full = *asked;
    int rc;

    if (queries_find_command(asked->command, &command, NULL) != 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no command '%s'; /api/v1 lists them",
                         asked->command);
    rc = find_other(place, asked, exchange, &other, err);
    if (rc != 0)
        return rc;
    if (other)
        full.argument = other->path;
    if (!asked->argument && request_is_known(recording, other, exchange))
        return 0;
    rc = ask(place, command, recording, &full, exchange, err);
    if (rc != 0) {
        request_hide_path(err, recording);
        if (other)
            request_hide_path(err, other);
    }
    return rc;
}
