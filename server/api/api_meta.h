/* SPDX-License-Identifier: MIT */
/* api_meta: what is served, which commands there are, and what can be given to them, as JSON: made of
 * the tables of queries.h, so that a page offers just what can be asked. */
#ifndef MTRACE_SERVER_API_META_H
#define MTRACE_SERVER_API_META_H

#include <stdio.h>

struct recordings;

void api_meta_print(FILE *out, const struct recordings *recordings);

#endif
