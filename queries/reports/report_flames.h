/* SPDX-License-Identifier: MIT */
/*
 * report_flames: the call trees of several measures as one JSON text, for a page that draws them.
 *
 * Model: {"names":[[function,module],…],"measures":[{"title":…,"nodes":[parent,name,bytes,blocks, …]},…]}: four numbers for
 *        each node, parents first, the figures its own without its callees'. Measures of which nothing is are left out.
 * Size: below 1 MB, whatever the recording. At most REPORT_FLAMES_NODES nodes of each measure are kept; what is smaller than the rest is part of its caller.
 */
#ifndef MTRACE_QUERIES_REPORT_FLAMES_H
#define MTRACE_QUERIES_REPORT_FLAMES_H

#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

enum {
    REPORT_FLAMES_NODES = 4000,
    REPORT_FLAMES_NAME_BYTES = 160, /* longer names lose arguments and parameters, then their end */
    REPORT_FLAMES_NAMES_BYTES =
        400 << 10, /* of all names together; further ones are cut to a quarter of that length */
};

int report_flames_put(const struct query *query, int64_t process_id, FILE *out, struct error *err);

#endif
