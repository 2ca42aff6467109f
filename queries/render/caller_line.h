/* SPDX-License-Identifier: MIT */
/*
 * caller_line: for a call site without a line, the innermost caller that has one, as "  from main
 * main.c:10". Of several stacks it is the caller of the one that leaks most, or else has most live
 * bytes at the peak.
 */
#ifndef MTRACE_QUERIES_CALLER_LINE_H
#define MTRACE_QUERIES_CALLER_LINE_H

#include <stddef.h>
#include <stdint.h>

struct rundb;

/* Appends nothing if no caller has a line in code that call sites may be in, or after an error. It
 * reads all stacks: call it for few rows. */
void caller_line_append(const struct rundb *database, int64_t call_site_id, char *text,
                        size_t size);

#endif
