/* SPDX-License-Identifier: MIT */
/*
 * query_help: the help of mtrace-query: one screen to start with, lists of all commands, filters
 * and options, and one page for each command. The lists come from the tables of commands and
 * parameters.
 */
#ifndef MTRACE_QUERIES_QUERY_HELP_H
#define MTRACE_QUERIES_QUERY_HELP_H

#include <stddef.h>

struct command;

enum {
    QUERY_OPTION_BYTES = 48 /* of an option's name, with its NUL */
};

/* An option of the program itself, beside the parameters of the library. */
struct query_option {
    const char *name; /* NULL ends a table */
    int letter;       /* 0: none */
    const char *value;
    const char *help; /* NULL: not in help */
};

extern const struct query_option query_own_options[];

/* The option of a parameter of the library, without "--": with "-" for "_". */
void query_option_name(const char *parameter, size_t length, char ret_name[QUERY_OPTION_BYTES]);

/* The letter of a frequent parameter; 0: none. */
int query_option_letter(const char *name);

void query_help_print_start(void);

void query_help_print_command(const struct command *command);

/* "commands", "filters" or "options". Returns 0; -1: there is no such topic. */
int query_help_print_topic(const char *topic);

#endif
