/* SPDX-License-Identifier: MIT */
/*
 * command_help: the text of --help about commands, from their table.
 */
#ifndef MTRACE_QUERIES_COMMAND_HELP_H
#define MTRACE_QUERIES_COMMAND_HELP_H

#include <stdio.h>

struct command;

/* A help_filter of argp: appends the list of all commands to the help. argp frees the result. */
char *command_help_list(int key, const char *text, void *input);

void command_help_print(const struct command *command, FILE *out);

#endif
