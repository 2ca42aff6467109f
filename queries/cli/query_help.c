/* SPDX-License-Identifier: MIT */
#include "queries/cli/query_help.h"

#include "queries/api/queries.h"
#include "queries/render/wrap.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE_WIDTH = 80,
    COMMAND_WIDTH = 18, /* of the column of names */
    OPTION_WIDTH = 26,
    NAME_BYTES = 128
};

const struct query_option query_own_options[] = {
    {"output", 'o', "FILE", "write there instead of to stdout"},
    {"force", 'f', NULL, "overwrite FILE"},
    {"json", 0, NULL, "the same as --format json"},
    {"csv", 0, NULL, "the same as --format csv"},
    {"about", 0, "FILE",
     "the database; no other file is opened: for requests of untrusted clients"},
    {"help", 'h', NULL, "print the help that fits one screen, or that of the command"},
    {"usage", 0, NULL, "print the first line of the help"},
    {"version", 'V', NULL, "print the version"},
    {NULL, 0, NULL, NULL},
};

void query_option_name(const char *parameter, size_t length, char ret_name[QUERY_OPTION_BYTES])
{
    size_t n = length < QUERY_OPTION_BYTES ? length : QUERY_OPTION_BYTES - 1;

    for (size_t i = 0; i < n; i++)
        ret_name[i] = parameter[i] == '_' ? '-' : parameter[i];
    ret_name[n] = '\0';
}

int query_option_letter(const char *name)
{
    return strcmp(name, "count") == 0 ? 'n' : strcmp(name, "wide") == 0 ? 'w' : 0;
}

/* ---- text in columns ---- */

/* `at` is the column now: that of the end of a name. */
static void print_wrapped(const char *text, size_t at, size_t column)
{
    bool is_long = at + 2 > column;

    if (is_long)
        (void)putchar('\n');
    wrap_text(text, is_long ? 0 : at, column, LINE_WIDTH, stdout);
}

/* ---- commands ---- */

static void format_name(const struct command *command, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s%s", command->name, command->argument ? " " : "",
                   command->argument ? command->argument : "");
}

static void print_command(const struct command *command, const char *help, const char *how)
{
    char name[NAME_BYTES];
    char text[4 * NAME_BYTES];

    format_name(command, name, sizeof(name));
    (void)snprintf(text, sizeof(text), "%s%s", help, how ? how : "");
    print_wrapped(text, (size_t)printf("  %s", name), COMMAND_WIDTH);
}

static const char *const topics[] = {
    [COMMAND_TOPIC_STACKS] = "Call stacks",  [COMMAND_TOPIC_BLOCKS] = "Single blocks",
    [COMMAND_TOPIC_HEAPS] = "Address space", [COMMAND_TOPIC_PROCESS] = "Process, time",
    [COMMAND_TOPIC_API] = "With mtrace.h",   [COMMAND_TOPIC_OTHER] = "Exports, SQL",
};

enum {
    N_TOPICS = sizeof(topics) / sizeof(topics[0])
};

static bool is_of(const struct command *command, int topic)
{
    return !command->start && (int)command->topic == topic;
}

static const char start_title[] = "Start here";

static void print_commands(void)
{
    (void)puts(start_title);
    for (const struct command *command = queries_commands; command->name; command++) {
        if (command->start)
            print_command(command, command->help, command->how);
    }
    for (int i = 1; i <= N_TOPICS; i++) { /* the others last */
        (void)printf("\n%s\n", topics[i % N_TOPICS]);
        for (const struct command *command = queries_commands; command->name; command++) {
            if (is_of(command, i % N_TOPICS))
                print_command(command, command->help, command->how);
        }
    }
}

/* The first names of a topic, as many as one line has room for. */
static void print_names(int topic)
{
    static const char ellipsis[] = " ...";
    size_t at = COMMAND_WIDTH - 1;

    (void)printf("  %s:%*s", topics[topic], (int)(at - 3 - strlen(topics[topic])), "");
    for (const struct command *command = queries_commands; command->name; command++) {
        if (!is_of(command, topic))
            continue;
        if (at + 1 + strlen(command->name) + strlen(ellipsis) > LINE_WIDTH) {
            (void)fputs(ellipsis, stdout);
            break;
        }
        at += (size_t)printf(" %s", command->name);
    }
    (void)putchar('\n');
}

static const char usage[] = "Usage: mtrace-query [COMMAND] run.db [FILTER...] [OPTION...]\n";

/* A terminal has 24 lines, one of them for the prompt. */
void query_help_print_start(void)
{
    (void)printf("%s%s\n", usage, start_title);
    for (const struct command *command = queries_commands; command->name; command++) {
        if (command->start)
            print_command(command, command->start, NULL);
    }
    (void)puts("\nMore commands, explained by 'mtrace-query help commands'");
    for (int i = 1; i <= N_TOPICS; i++)
        print_names(i % N_TOPICS);
    (void)puts("\nFilters: --from 10s --to 20s --size-min 4KiB --function-regex parse --at 50%\n"
               "Options: -n ROWS -w (wide) --stacks --json --csv -o FILE -f (overwrite)\n"
               "More:    mtrace-query help filters, help options, help COMMAND");
}

static const char *filters_of(const struct command *command)
{
    switch (command->filters) {
    case COMMAND_FILTERS_STACKS:
        return "those of stacks and groups";
    case COMMAND_FILTERS_ALL:
    case COMMAND_FILTERS_ROWS:
        return "all";
    default:
        return "none";
    }
}

/* {call_site_id} is printed as ID, {address} as ADDRESS. */
static void print_next(const struct command *command)
{
    (void)printf("Next:    mtrace-query %s run.db%s", command->next,
                 *command->next_tail ? " " : "");
    for (const char *at = command->next_tail; *at; at++) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;

        if (!end) {
            (void)putchar(*at);
            continue;
        }
        if (strncmp(end - 3, "_id", 3) == 0)
            at = end - 3;
        while (++at < end)
            (void)putchar(toupper((unsigned char)*at));
    }
    (void)putchar('\n');
}

void query_help_print_command(const struct command *command)
{
    (void)printf("Usage: mtrace-query %s%s%s%s%s [OPTION...]\n%s%s\n\n", command->name,
                 command->needs_database ? " run.db" : "", command->argument ? " " : "",
                 command->argument ? command->argument : "",
                 command->is_argument_optional ? " (or without)" : "", command->help,
                 command->how ? command->how : "");
    (void)printf("Filters: %s%s\n", filters_of(command),
                 command->has_instant ? ", and --at TIME" : "");
    if (command->has_measure)
        (void)puts(
            "Weights: --measure peak|leaked|allocated|freed|temporary|live, --by bytes|blocks");
    if (command->has_tree)
        (void)puts("Trees:   --bottom-up, --min-share N%");
    if (command->view && *command->view != '_')
        (void)printf("Columns: mtrace-query describe %s\n", command->view);
    if (!command->view && command->columns)
        (void)printf("Columns: %s\n", command->columns);
    if (command->next)
        print_next(command);
    (void)puts("All filters and options: mtrace-query help filters, mtrace-query help options");
}

/* ---- options ---- */

static void print_dashed(const char *name)
{
    char text[QUERY_OPTION_BYTES];

    query_option_name(name, strlen(name), text);
    (void)fputs(text, stdout);
}

/* "  -n, --count=N" and its help. */
static void print_option(const char *name, const char *alias, int letter, const char *value,
                         const char *help)
{
    size_t at = (size_t)printf("  ") + strlen(name) + 2;

    if (letter)
        at += (size_t)printf("-%c, ", letter);
    (void)fputs("--", stdout);
    print_dashed(name);
    if (value)
        at += (size_t)printf("=%s", value);
    if (alias) {
        at += (size_t)printf(", --");
        at += strlen(alias);
        print_dashed(alias);
    }
    print_wrapped(help, at, OPTION_WIDTH);
}

static void print_parameters(enum queries_group group)
{
    struct queries_parameter parameter;

    for (size_t i = 0; queries_parameter_at(i, &parameter); i++) {
        if (parameter.group == group)
            print_option(parameter.name, parameter.alias, query_option_letter(parameter.name),
                         parameter.value, parameter.help);
    }
}

static void print_filters(void)
{
    (void)puts(
        "Filters restrict a report to some blocks. Each can also be written as name=value.\n"
        "TIME: seconds, 4m12s, 100ms, N% of the run, peak or end; SIZE: bytes, 4KiB, 1MiB\n");
    print_parameters(QUERIES_FILTER);
}

static void print_options(void)
{
    static const struct {
        enum queries_group group;
        const char *title;
    } groups[] = {{QUERIES_WHOSE, "Which process or call site"},
                  {QUERIES_ROWS, "\nWhich rows"},
                  {QUERIES_GATE, "\nTests and suppressions"},
                  {QUERIES_LOOK, "\nOutput"}};

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        (void)puts(groups[i].title);
        print_parameters(groups[i].group);
    }
    for (const struct query_option *option = query_own_options; option->name; option++) {
        if (option->help)
            print_option(option->name, NULL, option->letter, option->value, option->help);
    }
    (void)puts(
        "\nTimes, sizes and shares in tables are rounded; json and csv are exact.\n"
        "Exit status: 0 answered, 1 failed, 2 wrong usage, 3 --fail-if found rows;\n"
        "of --about: 4 the database lacks the data, 6 it lacks the rows, 7 it took too long.\n"
        "A long table on a terminal is shown by $PAGER. NO_COLOR=1 switches colours off.");
}

int query_help_print_topic(const char *topic)
{
    if (strcmp(topic, "commands") == 0)
        print_commands();
    else if (strcmp(topic, "filters") == 0)
        print_filters();
    else if (strcmp(topic, "options") == 0)
        print_options();
    else if (strcmp(topic, "usage") == 0)
        (void)fputs(usage, stdout);
    else
        return -1;
    return 0;
}
