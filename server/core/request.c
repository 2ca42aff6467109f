/* SPDX-License-Identifier: MIT */
#include "server/core/request.h"

#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "queries/api/queries.h"
#include "queries/api/queries_parameters.h"
#include "server/core/recordings.h"
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

static bool is_about_rows(const char *name)
{
    return strcmp(name, "format") == 0 || strcmp(name, "count") == 0 || strcmp(name, "skip") == 0;
}

static int set_parameter(struct queries *question, const struct request *asked, const char *name,
                         const char *value, struct error *err)
{
    bool is_argument = strcmp(name, "argument") == 0;

    if (is_own(asked, name) || (is_argument && asked->argument && !asked->is_of_rows))
        return 0;
    if (asked->is_of_rows && !is_about_rows(name))
        return error_set(err, ERROR_USAGE, "unknown parameter '%.100s'", name);
    if (!request_allows_parameter(name))
        return error_set(err, ERROR_USAGE, "'%s' is for the command line only", name);
    if (is_argument)
        return queries_add_argument(question, value, err);
    return queries_set(question, name, *value ? value : NULL, err);
}

static int set_parameters(struct queries *question, const struct request *asked,
                          const struct exchange *exchange, struct error *err)
{
    int rc = asked->argument ? queries_add_argument(question, asked->argument, err) : 0;

    for (size_t i = 0; i < exchange->n_parameters && rc == 0; i++)
        rc = set_parameter(question, asked, exchange->parameters[i].name,
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

static int make_question(struct queries *question, const struct command *command,
                         const struct recording *recording, const struct request *asked,
                         struct exchange *exchange, struct error *err)
{
    bool is_json = asked->is_json || (!command->draws && !exchange_parameter(exchange, "format"));
    int rc = queries_set_database(question, recording->path, err);

    queries_set_command(question, command);
    if (!asked->is_json)
        choose_type(exchange, command);
    if (rc == 0 && is_json)
        rc = queries_set(question, "format", "json", err);
    if (rc == 0 && exchange->body && !asked->argument)
        rc = queries_add_argument(question, exchange->body, err);
    return rc == 0 ? set_parameters(question, asked, exchange, err) : rc;
}

/* Rows of `note`. */
struct notes {
    FILE *out;
    const char *separator;
};

static void add_note(void *context, const char *text)
{
    struct notes *notes = context;

    (void)fprintf(notes->out, "%s{\"note\":", notes->separator);
    json_text_put(notes->out, text);
    (void)fputc('}', notes->out);
    notes->separator = ",\n";
}

static bool receive(void *context, const char *data, size_t size)
{
    const struct exchange *exchange = context;

    return !exchange->is_abandoned(exchange->client)
           && fwrite(data, 1, size, exchange->out) == size;
}

static void interrupt_question(void *question)
{
    queries_interrupt(question);
}

struct watched request_watched(const struct exchange *exchange, void (*interrupt)(void *question),
                               void *question)
{
    return (struct watched){.interrupt = interrupt,
                            .question = question,
                            .is_abandoned = exchange->is_abandoned,
                            .waited_ns = exchange->waited_ns,
                            .give_up = exchange->give_up,
                            .client = exchange->client};
}

/* Runs the query under the watchdog. */
static int ask_in_time(const struct request_place *place, struct queries *question,
                       const struct request *asked, struct exchange *exchange, struct error *err)
{
    const bool is_own_sql = exchange->body && !asked->argument;
    const char *time_limit = is_own_sql ? place->sql_limit : place->time_limit;
    const struct queries_output output = {.write = receive, .context = exchange};
    struct watched watched = request_watched(exchange, interrupt_question, question);
    int rc = queries_set(question, "time_limit", time_limit, err);

    if (rc != 0)
        return rc;
    watched.is_statement = is_own_sql;
    if (!query_watchdog_begin(place->watch, &watched))
        return error_set(err, ERROR_INTERRUPTED, "the client has closed the connection");
    rc =
        asked->is_of_notes ? queries_ask_notes(question, err) : queries_ask(question, &output, err);
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

static int ask(const struct request_place *place, const struct command *command,
               const struct recording *recording, const struct request *asked,
               struct exchange *exchange, struct error *err)
{
    struct notes notes = {exchange->out, "["};
    struct queries *question = queries_new(asked->is_of_notes ? add_note : NULL, &notes);
    int rc;

    if (!question)
        return error_set(err, ERROR_NOMEM, "no memory for a question");
    rc = make_question(question, command, recording, asked, exchange, err);
    if (rc == 0)
        rc = ask_in_time(place, question, asked, exchange, err);
    if (rc == 0 && asked->is_of_notes)
        (void)fputs(*notes.separator == '[' ? "[]\n" : "]\n", exchange->out);
    queries_free(question);
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
