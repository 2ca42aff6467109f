/* SPDX-License-Identifier: MIT */
#include "queries/cli/query_options.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "queries/export/cmd_export.h"

#include <argp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- help ---- */

/* A help_filter of argp: appends the table of commands to the help. argp frees the result. */
static char *command_help_list(int key, const char *text, void *input)
{
    char *list = NULL;
    size_t size = 0;
    FILE *out;

    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)(uintptr_t)text;
    out = open_memstream(&list, &size);
    if (!out)
        return NULL;
    (void)fputs("Commands:\n", out);
    for (const struct command *command = queries_commands; command->name; command++)
        (void)fprintf(out, "  %s%s%s%*s%s%s\n", command->name, command->argument ? " " : "",
                      command->argument ? command->argument : "",
                      (int)(22 - strlen(command->name)
                            - (command->argument ? strlen(command->argument) + 1 : 0)),
                      "", command->help, command->how ? command->how : "");
    (void)fputs(
        "\nTimes, sizes and shares in tables are rounded; json and csv are exact.\n"
        "Exit status: 0 answered, 1 failed, 2 wrong usage, 3 --fail-if found rows;\n"
        "of --about: 4 the database lacks the data, 6 it lacks the rows, 7 it took too long.",
        out);
    return fclose(out) == 0 ? list : NULL;
}

static const char *filters_of(const struct command *command)
{
    switch (command->filters) {
    case COMMAND_FILTERS_STACKS:
        return "of stacks and groups";
    case COMMAND_FILTERS_ALL:
    case COMMAND_FILTERS_ROWS:
        return "all";
    default:
        return "none";
    }
}

static void command_help_print(const struct command *command, FILE *out)
{
    (void)fprintf(out, "Usage: mtrace-query %s%s%s%s%s [OPTION...]\n%s%s\n\n", command->name,
                  command->needs_database ? " run.db" : "", command->argument ? " " : "",
                  command->argument ? command->argument : "",
                  command->is_argument_optional ? " (or without)" : "", command->help,
                  command->how ? command->how : "");
    (void)fprintf(out, "Filters: %s%s\n", filters_of(command),
                  command->has_instant ? ", and --at TIME" : "");
    if (command->has_measure)
        (void)fputs(
            "Weights: --measure peak|leaked|allocated|freed|temporary|live, --by bytes|blocks\n",
            out);
    if (command->has_tree)
        (void)fputs("Trees:   --bottom-up, --min-share N%\n", out);
    for (size_t i = 0; command->has_format && cmd_export_format_name(i); i++)
        (void)fprintf(out, "%s%s", i ? "|" : "Formats: --to ", cmd_export_format_name(i));
    if (command->has_format)
        (void)fputs("\n", out);
    if (command->view && *command->view != '_')
        (void)fprintf(out, "Columns: mtrace-query describe %s\n", command->view);
    if (command->next)
        (void)fprintf(out, "Next:    mtrace-query %s run.db%s%s\n", command->next,
                      *command->next_tail ? " " : "", command->next_tail);
    (void)fputs("All options and filters: mtrace-query --help\n", out);
}

/* ---- names ---- */

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

/* Chooses the database: the first file with a database's name, else the first file, else the first
 * name that looks like a database. */
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

static const struct command *find(const char *name)
{
    const struct command *command;

    return queries_find_command(name, &command, NULL) == 0 ? command : NULL;
}

/* "run.db leaks" means "leaks run.db". */
static void put_command_first(const char **names, int n_names)
{
    if (n_names > 1 && !find(names[0]) && is_file(names[0]) && find(names[1])) {
        const char *database = names[0];
        names[0] = names[1];
        names[1] = database;
    }
}

static int find_command(const char *const *names, int n_names, const struct command **ret_command,
                        int *ret_used, struct error *err)
{
    const char *first = n_names > 0 ? names[0] : NULL;

    *ret_used = 0;
    if (!first)
        return error_set(err, ERROR_USAGE, "no database is named");
    *ret_command = find(first);
    if (*ret_command) {
        *ret_used = 1;
        return 0;
    }
    if (n_names > 1 && strcmp(first, "help") == 0)
        return queries_find_command(names[1], ret_command, err);
    if (!is_file(first) && (n_names > 1 || !looks_like_path(first)))
        return queries_find_command(first, ret_command, err);
    return queries_find_command("summary", ret_command, err);
}

/* views and describe need no database but accept one */
static bool is_needless(const struct command *command, const char *name)
{
    return !command->needs_database && is_named_as_ours(name) && is_file(name);
}

/* Sorts names in place. */
static int query_names_assign(const char **names, int n_names, struct query_names *ret,
                              struct error *err)
{
    int used;
    int database = -1;
    int rc;

    *ret = (struct query_names){.n_arguments = 0};
    put_command_first(names, n_names);
    rc = find_command(names, n_names, &ret->command, &used, err);
    if (rc != 0)
        return rc;
    if (ret->command->needs_database) {
        if (used == n_names)
            return error_set(err, ERROR_USAGE, "%s needs a database", ret->command->name);
        database = used + find_database(names + used, n_names - used);
        ret->database = names[database];
    }
    for (int i = used; i < n_names && ret->n_arguments < QUERY_MAX_NAMES; i++) {
        if (i != database && !is_needless(ret->command, names[i]))
            ret->arguments[ret->n_arguments++] = names[i];
    }
    return 0;
}

/* The same for a known database: treats no name as a file. */
static int query_names_assign_sealed(const char *database, const char *const *names, int n_names,
                                     struct query_names *ret, struct error *err)
{
    int rc = queries_find_command(n_names > 0 ? names[0] : "summary", &ret->command, err);

    ret->n_arguments = 0;
    ret->database = rc == 0 && ret->command->needs_database ? database : NULL;
    for (int i = 1; rc == 0 && i < n_names && ret->n_arguments < QUERY_MAX_NAMES; i++)
        ret->arguments[ret->n_arguments++] = names[i];
    return rc;
}

/* ---- options ---- */

enum option_key {
    KEY_OUTPUT = 'o',
    KEY_FORCE = 'f',
    KEY_HELP = 'h',
    KEY_VERSION = 'V',
    KEY_USAGE = 0x100,
    KEY_JSON,
    KEY_CSV,
    KEY_ABOUT,
    KEY_AWAIT,
    KEY_PARAMETER = 0x1000, /* and the parameter's index */
};

enum {
    MAX_OPTIONS = 128,
    OPTION_NAME_BYTES = 48,
    GROUP_OUTPUT = 4, /* in help, where those of the library are numbered from 1 */
    GROUP_FILTERS
};

struct parser {
    struct queries *question;
    struct command_line *line;
    const char *names[QUERY_MAX_NAMES]; /* what is no option */
    int n_names;
    bool is_help;
    int rc;
    struct error *err;
};

static const struct argp_option option_table[] = {
    {"json", KEY_JSON, NULL, 0, "the same as --format json", GROUP_OUTPUT},
    {"csv", KEY_CSV, NULL, 0, "the same as --format csv", GROUP_OUTPUT},
    {"output", KEY_OUTPUT, "FILE", 0, "write there instead of to stdout", GROUP_OUTPUT},
    {"force", KEY_FORCE, NULL, 0, "overwrite FILE", GROUP_OUTPUT},
    {"about", KEY_ABOUT, "FILE", 0,
     "the database; no other argument can name a file (for queries of clients that you do not "
     "trust)",
     GROUP_OUTPUT},
    {"await", KEY_AWAIT, NULL, OPTION_HIDDEN, NULL, GROUP_OUTPUT}, /* lib/logfile/left_out.h */
    {"help", KEY_HELP, NULL, 0, "print this and exit", -1},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short and exit", -1},
    {"version", KEY_VERSION, NULL, 0, "print the version and exit", -1},
    {.doc =
         "Filters, also as name=value. TIME: seconds, 4m12s, 100ms or N% of the run; SIZE: bytes, 4KiB, 1MiB",
     .group = GROUP_FILTERS},
};

/* One-letter options of frequent parameters. */
static const struct {
    const char *name;
    int letter;
} letters[] = {{"count", 'n'}, {"wide", 'w'}};

/* The options above, the library's parameters, and the end. */
struct option_list {
    struct argp_option options[MAX_OPTIONS];
    char names[MAX_OPTIONS][OPTION_NAME_BYTES];
    size_t n;
};

/* With "-" for "_"; the list has the text. */
static const char *option_name(struct option_list *list, const char *name)
{
    char *copy = list->names[list->n];

    for (size_t i = 0; name[i] && i + 1 < OPTION_NAME_BYTES; i++)
        copy[i] = name[i] == '_' ? '-' : name[i];
    return copy;
}

static int option_key(const char *name, size_t index)
{
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        if (strcmp(letters[i].name, name) == 0)
            return letters[i].letter;
    }
    return KEY_PARAMETER + (int)index;
}

static void list_options(struct option_list *list)
{
    struct queries_parameter parameter;

    *list = (struct option_list){.n = sizeof(option_table) / sizeof(option_table[0])};
    memcpy(list->options, option_table, sizeof(option_table));
    for (size_t i = 0; list->n + 3 < MAX_OPTIONS && queries_parameter_at(i, &parameter); i++) {
        list->options[list->n] = (struct argp_option){.name = option_name(list, parameter.name),
                                                      .key = option_key(parameter.name, i),
                                                      .arg = parameter.value,
                                                      .doc = parameter.help,
                                                      .group = (int)parameter.group + 1};
        list->n++;
        if (!parameter.alias)
            continue;
        list->options[list->n] = (struct argp_option){.name = option_name(list, parameter.alias),
                                                      .flags = OPTION_ALIAS,
                                                      .group = (int)parameter.group + 1};
        list->n++;
    }
}

static void set(struct parser *parser, const char *name, const char *value)
{
    if (parser->rc == 0)
        parser->rc = queries_set(parser->question, name, value, parser->err);
}

/* Allowed once: the process that passes it writes or reads the other arguments. */
static void set_only_file(struct parser *parser, const char *path)
{
    if (parser->line->only_file && parser->rc == 0)
        parser->rc =
            error_set(parser->err, ERROR_USAGE, "--about: this kind of query cannot name files");
    parser->line->only_file = path;
    queries_seal(parser->question);
}

/* Passed by the process that makes the database, before the other arguments. */
static void set_to_wait(struct parser *parser)
{
    if (parser->line->only_file && parser->rc == 0)
        parser->rc =
            error_set(parser->err, ERROR_USAGE, "--await: this kind of query does not wait");
    parser->line->is_to_wait = true;
}

static int check_sealed(const struct command_line *line, struct error *err)
{
    if (line->only_file && (line->output_path || line->is_forced))
        return error_set(err, ERROR_USAGE, "%s: this kind of query cannot name files",
                         line->output_path ? "--output" : "--force");
    return 0;
}

static void add_name(struct parser *parser, const char *text)
{
    const char *equals = strchr(text, '=');
    long index = equals ? queries_find_parameter(text, (size_t)(equals - text)) : -1;
    struct queries_parameter parameter;

    if (index >= 0 && queries_parameter_at((size_t)index, &parameter))
        set(parser, parameter.name, equals + 1);
    else if (parser->n_names < QUERY_MAX_NAMES)
        parser->names[parser->n_names++] = text;
    else
        parser->rc = error_set(parser->err, ERROR_USAGE, "unexpected argument '%s'", text);
}

static error_t parse_parameter(struct parser *parser, int key, const char *text)
{
    struct queries_parameter parameter;
    size_t index = (size_t)key - KEY_PARAMETER;

    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        if (letters[i].letter == key)
            index = (size_t)queries_find_parameter(letters[i].name, strlen(letters[i].name));
    }
    if (index >= MAX_OPTIONS || !queries_parameter_at(index, &parameter))
        return ARGP_ERR_UNKNOWN;
    set(parser, parameter.name, text);
    return 0;
}

/* Help for the command that is named before or after the option, else general help; "help" equals
 * --help. */
static void show_help(const struct parser *parser, struct argp_state *state)
{
    bool is_named_help = parser->n_names > 0 && strcmp(parser->names[0], "help") == 0;
    const struct command *command = NULL;

    if (parser->n_names > is_named_help)
        (void)queries_find_command(parser->names[is_named_help], &command, NULL);
    if (!parser->is_help && !(is_named_help && (command || parser->n_names == 1)))
        return;
    if (!command)
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    command_help_print(command, stdout);
    exit(EXIT_SUCCESS);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct parser *parser = state->input;

    switch (key) {
    case KEY_OUTPUT:
        parser->line->output_path = strcmp(text, "-") == 0 ? NULL : text;
        break;
    case KEY_FORCE:
        parser->line->is_forced = true;
        break;
    case KEY_ABOUT:
        set_only_file(parser, text);
        break;
    case KEY_AWAIT:
        set_to_wait(parser);
        break;
    case KEY_JSON:
        set(parser, "format", "json");
        break;
    case KEY_CSV:
        set(parser, "format", "csv");
        break;
    case KEY_HELP:
        parser->is_help = true;
        break;
    case ARGP_KEY_END:
        show_help(parser, state);
        break;
    case KEY_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        break;
    case KEY_VERSION:
        (void)printf("mtrace-query %s\n", MTRACE_VERSION);
        exit(EXIT_SUCCESS);
    case ARGP_KEY_ARG:
        add_name(parser, text);
        break;
    default:
        return parse_parameter(parser, key, text);
    }
    return 0;
}

int query_options_parse(int argc, char **argv, struct queries *question, struct command_line *ret,
                        struct error *err)
{
    struct option_list list;
    const struct argp argp = {
        .options = list.options,
        .parser = parse_option,
        .args_doc = "[COMMAND] run.db",
        .doc = "Answers questions about a recording. Without a command: summary.\v",
        .help_filter = command_help_list,
    };
    struct parser parser = {.question = question, .line = ret, .err = err};

    list_options(&list);
    *ret = (struct command_line){.is_forced = false};
    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, ARGP_NO_HELP | ARGP_IN_ORDER, NULL, &parser) != 0)
        return error_set(err, ERROR_USAGE, "the command line cannot be read");
    if (parser.rc == 0)
        parser.rc = check_sealed(ret, err);
    if (parser.rc == 0)
        parser.rc = ret->only_file
                        ? query_names_assign_sealed(ret->only_file, parser.names, parser.n_names,
                                                    &ret->names, err)
                        : query_names_assign(parser.names, parser.n_names, &ret->names, err);
    return parser.rc;
}
