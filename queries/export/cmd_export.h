/* SPDX-License-Identifier: MIT */
/*
 * cmd_export: `export --to FORMAT` writes the recording, filtered, in the format of another tool.
 */
#ifndef MTRACE_QUERIES_CMD_EXPORT_H
#define MTRACE_QUERIES_CMD_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct query;

bool cmd_export_has_format(const char *name);

/* The install function. Formats that are made of rows need no filtered totals. */
int cmd_export_install(struct query *query, struct error *err);
int cmd_export_run(struct query *query, struct error *err);

#endif
