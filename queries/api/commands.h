/* SPDX-License-Identifier: MIT */
/*
 * commands: the one table of what can be asked (command.h): parsing, help, completion and the test
 * that walks it all read it.
 */
#ifndef MTRACE_QUERIES_COMMANDS_H
#define MTRACE_QUERIES_COMMANDS_H

#include "queries/core/command.h"

extern const struct command commands[]; /* ends with name NULL */

/* All names in one line, for messages. */
const char *commands_list(char *ret_text, unsigned long size);

#endif
