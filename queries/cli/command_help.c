/* SPDX-License-Identifier: MIT */
#include "queries/cli/command_help.h"

#include "queries/api/queries.h"

#include <argp.h>
#include <stdint.h>
#include <string.h>

/* Appends the table of commands to the help. argp frees the result. */
char *command_help_list(int key, const char *text, void *input)
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
        "of --about: 4 the database lacks what is asked for, 6 the same of rows, 7 too long.",
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

void command_help_print(const struct command *command, FILE *out)
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
    if (command->view && *command->view != '_')
        (void)fprintf(out, "Columns: mtrace-query describe %s\n", command->view);
    if (command->next)
        (void)fprintf(out, "Next:    mtrace-query %s run.db%s%s\n", command->next,
                      *command->next_tail ? " " : "", command->next_tail);
    (void)fputs("All options and filters: mtrace-query --help\n", out);
}
