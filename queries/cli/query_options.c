/* SPDX-License-Identifier: MIT */
#include "queries/cli/query_options.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "queries/cli/command_help.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

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
     "the database, and no other name is of a file: for questions of those you trust less",
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
            error_set(parser->err, ERROR_USAGE, "--about: a question of this kind names no files");
    parser->line->only_file = path;
    queries_seal(parser->question);
}

/* Passed by the process that makes the database, before the other arguments. */
static void set_to_wait(struct parser *parser)
{
    if (parser->line->only_file && parser->rc == 0)
        parser->rc = error_set(parser->err, ERROR_USAGE,
                               "--await: a question of this kind waits for nobody");
    parser->line->is_to_wait = true;
}

static int check_sealed(const struct command_line *line, struct error *err)
{
    if (line->only_file && (line->output_path || line->is_forced))
        return error_set(err, ERROR_USAGE, "%s: a question of this kind names no files",
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
        parser->rc = error_set(parser->err, ERROR_USAGE, "'%s' is one name too many", text);
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
