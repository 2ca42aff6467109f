/* SPDX-License-Identifier: MIT */
#include "server/api.h"

#include "queries/library/queries.h"
#include "server/allowed.h"
#include "server/exchange.h"
#include "server/openapi.h"
#include "server/recordings.h"
#include "server/watch.h"
#include "support/error.h"
#include "support/json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "/api/v1";

enum {
    NAME_BYTES = 64
};

/* The pieces of /api/v1/ID/COMMAND. */
struct target {
    char id[NAME_BYTES];
    char command[NAME_BYTES];
};

/* ---- what is served ---- */

static void print_text(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "\"%s\":", name);
    if (text)
        json_text_put(out, text);
    else
        (void)fputs("null", out);
}

static void print_recordings(FILE *out, const struct recordings *recordings)
{
    (void)fputs("\"recordings\":[", out);
    for (size_t i = 0; i < recordings->n_items; i++) {
        const struct recording *recording = &recordings->items[i];
        const char *slash = strrchr(recording->path, '/');

        (void)fprintf(out, "%s{\"id\":\"%s\",", i > 0 ? "," : "", recording->id);
        print_text(out, "name", slash ? slash + 1 : recording->path);
        (void)fputc(',', out);
        print_text(out, "executable", recording->executable);
        (void)fprintf(out,
                      ",\"start_unix_ns\":%" PRId64 ",\"duration_ns\":%" PRId64
                      ",\"processes\":%" PRId64 "}",
                      recording->start_unix_ns, recording->duration_ns, recording->n_processes);
    }
    (void)fputs("],\n", out);
}

/* "a, b" as an array. */
static void print_columns(FILE *out, const char *columns)
{
    const char *separator = "";

    (void)fputs("\"columns\":", out);
    (void)fputs(columns ? "[" : "null", out);
    while (columns && *columns) {
        size_t length = strcspn(columns, ", ");

        if (length > 0)
            (void)fprintf(out, "%s\"%.*s\"", separator, (int)length, columns);
        separator = ",";
        columns += length + (columns[length] != '\0');
        columns += strspn(columns, " ");
    }
    (void)fputs(columns ? "]" : "", out);
}

static void print_flag(FILE *out, const char *name, bool value)
{
    (void)fprintf(out, "\"%s\":%s,", name, value ? "true" : "false");
}

static void print_commands(FILE *out)
{
    static const char *const filters[] = {
        [COMMAND_FILTERS_NONE] = "none",
        [COMMAND_FILTERS_STACKS] = "stacks",
        [COMMAND_FILTERS_ALL] = "all",
        [COMMAND_FILTERS_ROWS] = "rows",
    };

    (void)fputs("\"commands\":[", out);
    for (const struct command *command = queries_commands; command->name; command++) {
        (void)fputs(command == queries_commands ? "{" : ",\n{", out);
        print_text(out, "name", command->name);
        (void)fputc(',', out);
        print_text(out, "help", command->help);
        (void)fputc(',', out);
        print_text(out, "argument", command->argument);
        (void)fputc(',', out);
        print_flag(out, "has_measure", command->has_measure);
        print_flag(out, "has_tree", command->has_tree);
        print_flag(out, "has_instant", command->has_instant);
        print_flag(out, "needs_rows", command->needs_rows);
        (void)fprintf(out, "\"filters\":\"%s\",", filters[command->filters]);
        print_columns(out, command->columns);
        (void)fputc('}', out);
    }
    (void)fputs("],\n", out);
}

static void print_parameters(FILE *out)
{
    struct queries_parameter parameter;
    const char *separator = "";

    (void)fputs("\"filters\":[", out);
    for (size_t i = 0; queries_parameter_at(i, &parameter); i++) {
        if (parameter.group != QUERIES_FILTER && parameter.group != QUERIES_WHOSE)
            continue;
        (void)fprintf(out, "%s{", separator);
        print_text(out, "name", parameter.name);
        (void)fputc(',', out);
        print_text(out, "value", parameter.value);
        (void)fputc(',', out);
        print_text(out, "help", parameter.help);
        (void)fputc(',', out);
        print_text(out, "alias", parameter.alias);
        (void)fputc('}', out);
        separator = ",\n";
    }
    (void)fputs("]", out);
}

static int answer_meta(const struct api_context *context, struct exchange *exchange)
{
    (void)fputc('{', exchange->out);
    print_text(exchange->out, "version", MTRACE_VERSION);
    (void)fputs(",\n", exchange->out);
    print_recordings(exchange->out, context->recordings);
    print_commands(exchange->out);
    print_parameters(exchange->out);
    (void)fputs("}\n", exchange->out);
    return 0;
}

/* ---- one question ---- */

/* Of the path's next piece; false when it is empty or too long. */
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

static int set_parameters(struct queries *question, const struct exchange *exchange,
                          struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < exchange->n_parameters && rc == 0; i++) {
        const char *name = exchange->parameters[i].name;
        const char *value = exchange->parameters[i].value;

        if (strcmp(name, "token") == 0)
            continue;
        if (!allowed_parameter(name))
            rc = error_set(err, ERROR_USAGE, "'%s' is for the command line only", name);
        else if (strcmp(name, "argument") == 0)
            rc = queries_add_argument(question, value, err);
        else
            rc = queries_set(question, name, *value ? value : NULL, err);
    }
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

static int make_question(struct queries *question, const struct recording *recording,
                         const struct target *target, struct exchange *exchange, struct error *err)
{
    const struct command *command;
    int rc = queries_find_command(target->command, &command, err);

    if (rc != 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no command '%s'; /api/v1 lists them",
                         target->command);
    queries_set_command(question, command);
    choose_type(exchange, command);
    rc = queries_set_database(question, recording->path, err);
    if (rc == 0 && !command->draws && !exchange_parameter(exchange, "format"))
        rc = queries_set(question, "format", "json", err);
    if (rc == 0 && exchange->body)
        rc = queries_add_argument(question, exchange->body, err);
    return rc == 0 ? set_parameters(question, exchange, err) : rc;
}

static bool receive(void *context, const char *data, size_t size)
{
    const struct exchange *exchange = context;

    return !exchange->is_abandoned(exchange->client)
           && fwrite(data, 1, size, exchange->out) == size;
}

/* Under the eyes of the watch. */
static int ask_in_time(const struct api_context *context, struct queries *question,
                       struct exchange *exchange, struct error *err)
{
    const struct queries_output output = {.write = receive, .context = exchange};
    struct watched watched = {
        .question = question, .is_abandoned = exchange->is_abandoned, .client = exchange->client};
    int rc = queries_set(question, "time_limit", context->time_limit, err);

    if (rc != 0)
        return rc;
    watch_begin(context->watch, &watched);
    rc = queries_ask(question, &output, err);
    watch_end(context->watch, &watched);
    return rc;
}

static int ask(const struct api_context *context, const struct recording *recording,
               const struct target *target, struct exchange *exchange, struct error *err)
{
    struct queries *question = queries_new(NULL, NULL);
    int rc;

    if (!question)
        return error_set(err, ERROR_NOMEM, "no memory for a question");
    rc = make_question(question, recording, target, exchange, err);
    if (rc == 0)
        rc = ask_in_time(context, question, exchange, err);
    queries_free(question);
    return rc;
}

/* ---- routes ---- */

bool api_is_asked(const struct exchange *exchange)
{
    return strncmp(exchange->path, "/api/", strlen("/api/")) == 0;
}

static int check_method(struct exchange *exchange, const struct target *target, struct error *err)
{
    bool is_sql = strcmp(target->command, "sql") == 0;

    if (strcmp(exchange->method, is_sql ? "POST" : "GET") == 0)
        return 0;
    return error_set(err, ERROR_USAGE, "%s is asked by %s", target->command,
                     is_sql ? "POST, the statement is the body" : "GET");
}

int api_answer(const struct api_context *context, struct exchange *exchange, struct error *err)
{
    const struct recording *recording;
    struct target target;
    int rc;

    if (strcmp(exchange->path, prefix) == 0 || strcmp(exchange->path, "/api/v1/") == 0)
        return answer_meta(context, exchange);
    if (strcmp(exchange->path, "/api/v1/openapi.json") == 0) {
        openapi_print(exchange->out);
        return 0;
    }
    if (strncmp(exchange->path, prefix, strlen(prefix)) != 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no '%s'; the interface is /api/v1",
                         exchange->path);
    rc = parse_target(exchange->path, &target, err);
    if (rc == 0)
        rc = check_method(exchange, &target, err);
    if (rc != 0)
        return rc;
    recording = recordings_find(context->recordings, target.id);
    if (!recording)
        return error_set(err, ERROR_NOT_FOUND,
                         "this server has no recording '%s'; /api/v1 lists them", target.id);
    return ask(context, recording, &target, exchange, err);
}
