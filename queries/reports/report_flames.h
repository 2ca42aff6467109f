/* SPDX-License-Identifier: MIT */
/*
 * report_flames: the call trees of several measures as one JSON text, for a page that draws them.
 *
 * Model: {"names":[[function,module],…],"measures":[{"title":…,"nodes":[parent,name,bytes,blocks, …]},…]}: four numbers for
 *        each node, parents first, the figures its own without its callees'. Measures of which nothing is are left out.
 * Memory: at most REPORT_FLAMES_NODES nodes of each measure; what is smaller than the rest is part of its caller.
 */
#ifndef MTRACE_QUERIES_REPORT_FLAMES_H
#define MTRACE_QUERIES_REPORT_FLAMES_H

#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

enum {
    REPORT_FLAMES_NODES = 8000
};

int report_flames_put(const struct query *query, int64_t process_id, FILE *out, struct error *err);

#endif
