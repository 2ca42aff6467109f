/* SPDX-License-Identifier: MIT */
/*
 * api_meta: the served recordings, the commands and their parameters as JSON. It is made from the
 * tables of queries.h, so a page offers exactly what the server accepts.
 */
#ifndef MTRACE_SERVER_API_META_H
#define MTRACE_SERVER_API_META_H

#include <stdbool.h>
#include <stdio.h>

struct recordings;

/* is_confidential: without paths of executables. */
void api_meta_print(FILE *out, const struct recordings *recordings, bool is_confidential);

#endif
