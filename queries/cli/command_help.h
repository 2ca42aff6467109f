/* SPDX-License-Identifier: MIT */
/*
 * command_help: what --help says of the commands, from their own table.
 */
#ifndef MTRACE_QUERIES_COMMAND_HELP_H
#define MTRACE_QUERIES_COMMAND_HELP_H

#include <stdio.h>

struct command;

/* argp's help_filter: the list of all commands ends the help; argp frees what it gets. */
char *command_help_list(int key, const char *text, void *input);

void command_help_print(const struct command *command, FILE *out);

#endif
