/* SPDX-License-Identifier: MIT */
#include "queries/api/queries.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"
#include "queries/api/commands.h"
#include "queries/api/parameters.h"
#include "queries/core/notes.h"
#include "queries/core/query.h"
#include "queries/core/query_open.h"
#include "queries/render/suggestion.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct text {
    struct text *next;
    char letters[];
};

struct query_request {
    struct query_options options;
    struct query query;
    struct database_stop stop;
    struct text *texts; /* what the options point to */
};

const struct command *const queries_commands = commands;

int queries_find_command(const char *name, const struct command **ret_command, struct error *err)
{
    struct suggestion suggestion = {.word = name};
    char list[1024];

    *ret_command = command_find(commands, name);
    if (*ret_command)
        return 0;
    for (const struct command *command = commands; command->name; command++)
        suggestion_consider(&suggestion, command->name);
    if (suggestion_best(&suggestion))
        return error_set(err, ERROR_USAGE, "unknown command '%s'; did you mean %s?", name,
                         suggestion_best(&suggestion));
    return error_set(err, ERROR_USAGE, "unknown command '%s'; commands: %s", name,
                     commands_list(list, sizeof(list)));
}

struct query_request *queries_new(void (*note)(void *context, const char *text), void *context)
{
    struct query_request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    parameters_init(&request->options);
    request->query = (struct query){.options = &request->options,
                                    .commands = commands,
                                    .stop = &request->stop,
                                    .note = note,
                                    .note_context = context};
    return request;
}

void queries_free(struct query_request *request)
{
    struct text *next;

    for (struct text *text = request ? request->texts : NULL; text; text = next) {
        next = text->next;
        free(text);
    }
    free(request);
}

static int keep(struct query_request *request, const char *text, const char **ret_copy,
                struct error *err)
{
    size_t size = strlen(text) + 1;
    struct text *copy = malloc(sizeof(*copy) + size);

    if (!copy)
        return error_set(err, ERROR_NOMEM, "no memory for a text of %zu bytes", size);
    memcpy(copy->letters, text, size);
    copy->next = request->texts;
    request->texts = copy;
    *ret_copy = copy->letters;
    return 0;
}

void queries_set_command(struct query_request *request, const struct command *command)
{
    request->options.command = command;
}

void queries_set_untrusted(struct query_request *request)
{
    request->options.is_untrusted = true;
}

int queries_set_database(struct query_request *request, const char *path, struct error *err)
{
    return keep(request, path, &request->options.database_path, err);
}

int queries_add_argument(struct query_request *request, const char *text, struct error *err)
{
    struct query_options *options = &request->options;

    if (options->n_arguments == QUERY_MAX_ARGUMENTS)
        return error_set(err, ERROR_USAGE, "unexpected argument '%.100s'", text);
    return keep(request, text, &options->arguments[options->n_arguments++], err);
}

int queries_set(struct query_request *request, const char *name, const char *value,
                struct error *err)
{
    long index = queries_find_parameter(name, strlen(name));
    const char *text;
    int rc;

    if (index < 0)
        return error_set(err, ERROR_USAGE, "unknown parameter '%.100s'", name);
    if (request->options.is_untrusted && queries_names_file(name))
        return error_set(err, ERROR_USAGE, "%.100s: this kind of query cannot name files", name);
    rc = keep(request, value ? value : "yes", &text, err);
    return rc == 0 ? parameters_set(&request->options, (size_t)index, text, err) : rc;
}

int queries_check(const struct query_request *request, struct error *err)
{
    return parameters_check(&request->options, err);
}

enum left_out_needs queries_needs(const struct query_request *request)
{
    return query_needs(&request->options);
}

/* ---- asking ---- */

static ssize_t write_to_client(void *cookie, const char *data, size_t size)
{
    const struct queries_output *output = cookie;

    return output->write(output->context, data, size) ? (ssize_t)size : 0;
}

static FILE *open_client(const struct queries_output *output)
{
    static const cookie_io_functions_t functions = {.write = write_to_client};

    return fopencookie((void *)(uintptr_t)output, "w", functions);
}

static int answer(struct query *query, struct error *err)
{
    bool is_bad;
    int rc = query_open(query, err);

    if (rc == 0)
        rc = query->options->command->run(query, err);
    if (rc == 0)
        rc = notes_after(query, err);
    rundb_close(&query->database);
    is_bad = ferror(query->out) != 0;
    errno = 0;
    if ((fflush(query->out) != 0 || is_bad) && rc == 0)
        rc = error_set_errno(err, errno ? errno : EIO, "cannot write '%s'",
                             query->output_name ? query->output_name : "stdout");
    return rc;
}

/* A client that may not name files does not know this one: do not print its name. */
static void hide_path(const struct query_options *options, struct error *err)
{
    char text[sizeof(err->text)];
    char name[PATH_MAX + 3];
    char *found;

    if (!err || !options->is_untrusted || !options->database_path)
        return;
    (void)snprintf(name, sizeof(name), "'%s'", options->database_path);
    while ((found = strstr(err->text, name))) {
        (void)snprintf(text, sizeof(text), "%.*sthe recording%s", (int)(found - err->text),
                       err->text, found + strlen(name));
        memcpy(err->text, text, sizeof(text));
    }
}

int64_t queries_time_limit_ns(const struct query_request *request)
{
    return request->options.time_limit_ns;
}

void queries_interrupt(struct query_request *request)
{
    request->stop.is_wanted = true;
}

/* The time limit starts here. */
static int begin(struct query_request *request, struct error *err)
{
    const struct query_options *options = &request->options;
    int rc = parameters_check(options, err);

    if (rc == 0 && options->command->needs_database && !options->database_path)
        rc = error_set(err, ERROR_USAGE, "%s needs a database", options->command->name);
    request->query.style.format = options->format;
    request->stop.until_ns =
        options->time_limit_ns ? (int64_t)monotonic_now_ns() + options->time_limit_ns : 0;
    return rc;
}

int queries_run_notes(struct query_request *request, struct error *err)
{
    struct query *query = &request->query;
    int rc = begin(request, err);

    if (rc != 0)
        return rc;
    query->is_of_notes = true;
    request->options.is_sql_shown = false; /* instead of computing the answer */
    rc = query_open(query, err);
    if (rc == 0)
        rc = notes_after(query, err);
    rundb_close(&query->database);
    if (rc != 0)
        hide_path(&request->options, err);
    return rc;
}

int queries_run(struct query_request *request, const struct queries_output *output,
                struct error *err)
{
    const struct query_options *options = &request->options;
    struct query *query = &request->query;
    int rc = begin(request, err);

    if (rc == 0 && output->name)
        rc = parameters_check_output(options, output->name, err);
    if (rc != 0)
        return rc;
    query->style = (struct render_style){.format = options->format,
                                         .is_wide = options->is_wide,
                                         .is_terminal = output->is_terminal,
                                         .is_coloured = output->is_coloured,
                                         .width = options->is_wide ? 0 : output->width};
    query->output_name = output->name;
    query->out = output->out ? output->out : open_client(output);
    if (!query->out)
        return error_set(err, ERROR_NOMEM, "no memory for an answer");
    rc = answer(query, err);
    if (rc != 0)
        hide_path(options, err);
    if (!output->out)
        (void)fclose(query->out);
    return rc;
}

bool queries_has_failed(const struct query_request *request)
{
    return request->query.has_failed;
}
