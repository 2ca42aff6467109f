/* SPDX-License-Identifier: MIT */
#include "queries/cli/query_options.h"

#include "lib/base/error.h"
#include "queries/api/queries.h"
#include "queries/cli/query_help.h"
#include "queries/render/suggestion.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    KEY_NAME = 1,           /* of getopt: what is no option */
    KEY_OWN = 0x100,        /* and the index in query_own_options, of those without a letter */
    KEY_PARAMETER = 0x1000, /* and the parameter's index */
};

enum {
    MAX_OPTIONS = 128
};

struct parser {
    struct query_request *request;
    struct command_line *line;
    const char *names[QUERY_MAX_NAMES]; /* what is no option */
    int n_names;
    bool is_help;
    int rc;
    struct error *err;
};

/* The program's options and the library's parameters, for getopt. */
struct option_list {
    struct option options[MAX_OPTIONS];
    char names[MAX_OPTIONS][QUERY_OPTION_BYTES];
    char letters[2 * MAX_OPTIONS];
    size_t n;
};

/* The list has the text. name NULL: none. */
static void list_option(struct option_list *list, const char *name, const char *value, int key)
{
    char *copy = list->names[list->n];

    if (!name || list->n + 1 >= MAX_OPTIONS)
        return;
    query_option_name(name, strlen(name), copy);
    list->options[list->n++] =
        (struct option){copy, value ? required_argument : no_argument, NULL, key};
}

static void list_letter(struct option_list *list, int letter, const char *value)
{
    size_t used = strlen(list->letters);

    if (letter)
        (void)snprintf(list->letters + used, sizeof(list->letters) - used, "%c%s", letter,
                       value ? ":" : "");
}

static void list_options(struct option_list *list)
{
    struct queries_parameter parameter;

    *list = (struct option_list){.letters = "-:"}; /* names in their order; messages are ours */
    for (int i = 0; query_own_options[i].name; i++) {
        const struct query_option *own = &query_own_options[i];

        list_option(list, own->name, own->value, own->letter ? own->letter : KEY_OWN + i);
        list_letter(list, own->letter, own->value);
    }
    for (int i = 0; queries_parameter_at((size_t)i, &parameter); i++) {
        int letter = query_option_letter(parameter.name);

        list_option(list, parameter.name, parameter.value, letter ? letter : KEY_PARAMETER + i);
        list_option(list, parameter.alias, parameter.value, KEY_PARAMETER + i);
        list_letter(list, letter, parameter.value);
    }
}

static void set(struct parser *parser, const char *name, const char *value)
{
    if (parser->rc == 0)
        parser->rc = queries_set(parser->request, name, value, parser->err);
}

/* Allowed once: later arguments may come from an untrusted client. */
static void set_only_file(struct parser *parser, const char *path)
{
    if (parser->line->only_file && parser->rc == 0)
        parser->rc =
            error_set(parser->err, ERROR_USAGE, "--about: this kind of query cannot name files");
    parser->line->only_file = path;
    queries_set_untrusted(parser->request);
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

/* The parameter whose name is nearest; NULL: none is near. */
static const char *find_similar(const char *text, size_t length)
{
    char name[QUERY_OPTION_BYTES];
    struct suggestion suggestion = {.word = name};
    struct queries_parameter parameter;

    (void)snprintf(name, sizeof(name), "%.*s", (int)length, text);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : *at;
    for (size_t i = 0; queries_parameter_at(i, &parameter); i++) {
        suggestion_consider(&suggestion, parameter.name);
        if (parameter.alias)
            suggestion_consider(&suggestion, parameter.alias);
    }
    return suggestion_best(&suggestion);
}

/* A name, or NAME=VALUE of a parameter. A misspelt one is a name if no parameter is near. */
static void add_name(struct parser *parser, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_-";
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    long index = equals ? queries_find_parameter(text, length) : -1;
    struct queries_parameter parameter;
    const char *similar;

    if (index >= 0 && queries_parameter_at((size_t)index, &parameter)) {
        set(parser, parameter.name, equals + 1);
        return;
    }
    similar = equals && equals[1] && strspn(text, letters) == length && !is_file(text)
                  ? find_similar(text, length)
                  : NULL;
    if (similar && parser->rc == 0)
        parser->rc = error_set(parser->err, ERROR_USAGE, "unknown filter '%.*s'; did you mean %s?",
                               (int)length, text, similar);
    if (parser->n_names < QUERY_MAX_NAMES)
        parser->names[parser->n_names++] = text;
    else if (parser->rc == 0)
        parser->rc = error_set(parser->err, ERROR_USAGE, "unexpected argument '%s'", text);
}

static void set_parameter(struct parser *parser, int key, const char *text)
{
    struct queries_parameter parameter;

    for (size_t i = 0; queries_parameter_at(i, &parameter); i++) {
        if (key == KEY_PARAMETER + (int)i || key == query_option_letter(parameter.name))
            set(parser, parameter.name, text);
    }
}

static void parse_own(struct parser *parser, const char *name, char *text)
{
    if (strcmp(name, "output") == 0)
        parser->line->output_path = strcmp(text, "-") == 0 ? NULL : text;
    else if (strcmp(name, "force") == 0)
        parser->line->is_forced = true;
    else if (strcmp(name, "json") == 0 || strcmp(name, "csv") == 0)
        set(parser, "format", name);
    else if (strcmp(name, "about") == 0)
        set_only_file(parser, text);
    else if (strcmp(name, "await") == 0)
        set_to_wait(parser);
    else if (strcmp(name, "help") == 0)
        parser->is_help = true;
    else if (strcmp(name, "usage") == 0)
        exit(query_help_print_topic(name) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    else {
        (void)printf("mtrace-query %s\n", MTRACE_VERSION);
        exit(EXIT_SUCCESS);
    }
}

/* getopt does not know the option or its value. */
static int fail_option(struct parser *parser, int key, const char *text)
{
    const char *name = text + strspn(text, "-");
    size_t length = strcspn(name, "=");
    char dashed[QUERY_OPTION_BYTES] = "";
    const char *similar;

    if (key == ':')
        return error_set(parser->err, ERROR_USAGE, "option '%s' needs a value", text);
    if (optopt && strncmp(text, "--", 2) != 0)
        return error_set(parser->err, ERROR_USAGE, "unknown option '-%c'", optopt);
    if (optopt)
        return error_set(parser->err, ERROR_USAGE, "option '%s' takes no value", text);
    similar = find_similar(name, length);
    if (!similar)
        return error_set(parser->err, ERROR_USAGE,
                         "unknown option '--%.*s'; mtrace-query help options lists them",
                         (int)length, name);
    query_option_name(similar, strlen(similar), dashed);
    return error_set(parser->err, ERROR_USAGE, "unknown option '--%.*s'; did you mean --%s?",
                     (int)length, name, dashed);
}

static void parse(struct parser *parser, int argc, char **argv)
{
    struct option_list list;
    int key;

    list_options(&list);
    opterr = 0;
    while (parser->rc == 0
           && (key = getopt_long(argc, argv, list.letters, list.options, NULL)) != -1) {
        const struct query_option *own = query_own_options;

        for (int i = 0; own->name && key != own->letter && key != KEY_OWN + i; i++)
            own++;
        if (key == KEY_NAME)
            add_name(parser, optarg);
        else if (key == '?' && strcmp(argv[optind - 1], "-?") == 0)
            parser->is_help = true;
        else if (key == '?' || key == ':')
            parser->rc = fail_option(parser, key, argv[optind - 1]);
        else if (own->name)
            parse_own(parser, own->name, optarg);
        else
            set_parameter(parser, key, optarg);
    }
    while (parser->rc == 0 && optind < argc)
        add_name(parser, argv[optind++]);
}

/* Help for the command or topic that is named before or after the option, else the first screen;
 * "help" equals --help. */
static void show_help(const struct parser *parser)
{
    bool is_named_help = parser->n_names > 0 && strcmp(parser->names[0], "help") == 0;
    const struct command *command = NULL;
    const char *name = parser->n_names > is_named_help ? parser->names[is_named_help] : NULL;

    if (!parser->is_help && !is_named_help)
        return;
    if (name && is_named_help && query_help_print_topic(name) == 0)
        exit(EXIT_SUCCESS);
    if (name)
        (void)queries_find_command(name, &command, NULL);
    if (name && is_named_help && !command)
        return; /* an unknown command */
    if (command)
        query_help_print_command(command);
    else
        query_help_print_start();
    exit(EXIT_SUCCESS);
}

int query_options_parse(int argc, char **argv, struct query_request *request,
                        struct command_line *ret, struct error *err)
{
    struct parser parser = {.request = request, .line = ret, .err = err};

    *ret = (struct command_line){.is_forced = false};
    parse(&parser, argc, argv);
    if (parser.rc == 0 || parser.is_help)
        show_help(&parser);
    if (parser.rc == 0)
        parser.rc = check_sealed(ret, err);
    if (parser.rc == 0)
        parser.rc = ret->only_file
                        ? query_names_assign_sealed(ret->only_file, parser.names, parser.n_names,
                                                    &ret->names, err)
                        : query_names_assign(parser.names, parser.n_names, &ret->names, err);
    return parser.rc;
}
