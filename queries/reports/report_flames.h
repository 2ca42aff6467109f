/* SPDX-License-Identifier: MIT */
/*
 * report_flames: the call trees of several measures as one JSON text, for the page that draws them.
 *
 * {"names":[[function,module],…],"measures":[{"title":…,"nodes":[parent,name,bytes,blocks, …]},…]}
 * A node has four numbers; parents come first; bytes and blocks exclude the callees. Empty measures
 * are omitted. The text is below 1 MB for any recording: each measure keeps its REPORT_FLAMES_NODES
 * heaviest nodes, and the others are added to their callers.
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
        400 << 10, /* of all names; further ones are cut to a quarter of REPORT_FLAMES_NAME_BYTES */
};

int report_flames_put(const struct query *query, int64_t process_id, FILE *out, struct error *err);

#endif
