/* SPDX-License-Identifier: MIT */
/*
 * commands: the table of all commands (command.h). Parsing, help, completion and tests read it.
 */
#ifndef MTRACE_QUERIES_COMMANDS_H
#define MTRACE_QUERIES_COMMANDS_H

#include "queries/core/command.h"

extern const struct command commands[]; /* ends with name NULL */

/* All names in one line, for messages. Returns ret_text. */
const char *commands_list(char *ret_text, unsigned long size);

#endif
