/* SPDX-License-Identifier: MIT */
#include "queries/command_line/query_names.h"

#include "queries/library/commands.h"
#include "queries/question/query.h"
#include "queries/text/suggestion.h"
#include "support/error.h"

#include <string.h>
#include <unistd.h>

static bool is_file(const char *name)
{
    return access(name, F_OK) == 0;
}

static bool looks_like_path(const char *name)
{
    return strpbrk(name, "./") != NULL;
}

static bool is_named_as_ours(const char *name)
{
    size_t length = strlen(name);

    return length > 3
           && (strcmp(name + length - 3, ".db") == 0
               || (length > 4 && strcmp(name + length - 4, ".dat") == 0));
}

/* Which of the names is the database: the first file that is named like one, else the first that is
 * a file, else the first that looks like one. */
static int find_database(const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (is_named_as_ours(names[i]) && is_file(names[i]))
            return i;
    }
    for (int i = 0; i < n; i++) {
        if (is_file(names[i]))
            return i;
    }
    for (int i = 0; i < n; i++) {
        if (looks_like_path(names[i]) && !strchr(names[i], ' '))
            return i;
    }
    return 0;
}

static int fail_unknown(const char *name, struct error *err)
{
    struct suggestion suggestion = {.word = name};
    char list[1024];

    for (const struct command *command = commands; command->name; command++)
        suggestion_consider(&suggestion, command->name);
    if (suggestion_best(&suggestion))
        return error_set(err, ERROR_USAGE, "unknown command '%s'; did you mean %s?", name,
                         suggestion_best(&suggestion));
    return error_set(err, ERROR_USAGE, "unknown command '%s'; commands: %s", name,
                     commands_list(list, sizeof(list)));
}

/* "run.db leaks" is meant as "leaks run.db". */
static void put_command_first(const char **names, int n_names)
{
    if (n_names > 1 && !command_find(commands, names[0]) && is_file(names[0])
        && command_find(commands, names[1])) {
        const char *database = names[0];
        names[0] = names[1];
        names[1] = database;
    }
}

static int find_command(struct query_options *options, const char *const *names, int n_names,
                        int *ret_used, struct error *err)
{
    const char *first = n_names > 0 ? names[0] : NULL;

    *ret_used = 0;
    if (!first)
        return error_set(err, ERROR_USAGE, "no database is named");
    options->command = command_find(commands, first);
    if (options->command) {
        *ret_used = 1;
        return 0;
    }
    if (n_names > 1 && strcmp(first, "help") == 0)
        return fail_unknown(names[1], err);
    if (!is_file(first) && (n_names > 1 || !looks_like_path(first)))
        return fail_unknown(first, err);
    options->command = command_find(commands, "summary");
    return 0;
}

static int check_filters(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    int n_instants = 0;

    for (size_t i = 0; i < options->filter.n_values; i++) {
        const struct filter_value *value = &options->filter.values[i];

        if (command->has_instant && value->parameter == filter_find("alive_at", 8)) {
            if (++n_instants > 1)
                return error_set(err, ERROR_USAGE, "%s shows one instant, but --at was given twice",
                                 command->name);
            continue;
        }
        if (command->filters == COMMAND_FILTERS_NONE)
            return error_set(err, ERROR_USAGE, "%s takes no filters, but %s was given",
                             command->name, value->parameter->name);
        if (command->filters == COMMAND_FILTERS_STACKS
            && filter_value_scope(value) == FILTER_SCOPE_ROW)
            return error_set(err, ERROR_USAGE,
                             "%s takes filters of stacks and groups only, but %s was given",
                             command->name, value->parameter->name);
    }
    return 0;
}

/* Options that only some commands understand. */
static int check_options(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    const char *option = options->measure ? "measure" : options->is_by_blocks ? "by" : NULL;

    if (!option && (options->is_inverted || options->min_share >= 0) && !command->has_tree)
        return error_set(err, ERROR_USAGE, "--%s is for tree and flamegraph, not for %s",
                         options->is_inverted ? "bottom-up" : "min-share", command->name);
    if (option && !command->has_measure)
        return error_set(err, ERROR_USAGE, "--%s cannot be used with %s", option, command->name);
    if (options->export_format && !command->has_format)
        return error_set(err, ERROR_USAGE, "--to %s is for export, not for %s",
                         options->export_format, command->name);
    return 0;
}

static int check_arguments(const struct query_options *options, struct error *err)
{
    const struct command *command = options->command;
    int wanted = command->argument ? 1 : 0;

    if (options->n_arguments < wanted && !command->is_argument_optional)
        return error_set(err, ERROR_USAGE, "%s needs %s", command->name, command->argument);
    if (options->n_arguments > wanted)
        return error_set(err, ERROR_USAGE, "'%s' is one name too many for %s",
                         options->arguments[wanted], command->name);
    return 0;
}

/* views and describe need no database, and take no offence at one. */
static bool is_needless(const struct command *command, const char *name)
{
    return !command->needs_database && is_named_as_ours(name) && is_file(name);
}

int query_names_assign(struct query_options *options, const char **names, int n_names,
                       struct error *err)
{
    int used;
    int database = -1;
    int rc;

    put_command_first(names, n_names);
    rc = find_command(options, names, n_names, &used, err);
    if (rc != 0)
        return rc;
    if (options->command->needs_database) {
        if (used == n_names)
            return error_set(err, ERROR_USAGE, "%s needs a database", options->command->name);
        database = used + find_database(names + used, n_names - used);
        options->database_path = names[database];
    }
    for (int i = used; i < n_names && options->n_arguments < QUERY_MAX_ARGUMENTS; i++) {
        if (i != database && !is_needless(options->command, names[i]))
            options->arguments[options->n_arguments++] = names[i];
    }
    rc = check_arguments(options, err);
    if (rc == 0)
        rc = check_options(options, err);
    return rc == 0 ? check_filters(options, err) : rc;
}
