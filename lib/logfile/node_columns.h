/* SPDX-License-Identifier: MIT */
/*
 * node_columns: transposes nodes of the stack tree into columns that compress well, and back.
 *
 * A node is mostly the child of the one before it, and code at an address mostly calls what it
 * called before. So a parent is written as a distance. An address is written as the predicted one,
 * as an earlier one of the same part, or as its distance to the last new one. docs/log-format.md
 * describes the columns.
 *
 * Invariants
 *   NC-1 decode(encode(nodes)) = nodes, for any nodes; encoding a part starts from nothing.
 *   NC-2 node_columns_decode writes at most n_nodes and reads nothing outside its input.
 *
 * One thread per struct node_columns.
 */
#ifndef MTRACE_LIB_NODE_COLUMNS_H
#define MTRACE_LIB_NODE_COLUMNS_H

#include "lib/abi/log_format.h"
#include "lib/logfile/column_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_column {
    NODE_COLUMN_PARENT,  /* varint: own id minus the parent's */
    NODE_COLUMN_PLACE,   /* varint: 0 the predicted place, 1 a new one, else counted back */
    NODE_COLUMN_ADDRESS, /* of a new one: zigzag distance to the last new one, and its module */
    NODE_COLUMN_COUNT,
};

enum {
    NODE_COLUMNS_SLOTS = 8192, /* at most half full */
};

/* A place in the code. */
struct node_place {
    uint64_t address;
    uint32_t module;
    uint16_t called; /* its last callee */
    uint16_t reserved;
};

struct node_columns {
    uint32_t n_places;
    uint64_t last_address; /* of the last new place */
    uint16_t slots[NODE_COLUMNS_SLOTS];
    struct node_place places[LOG_NODES_PER_SEGMENT + 1];
    uint16_t place_of[LOG_NODES_PER_SEGMENT]; /* of each node of the part */
    struct column_bytes encoded;              /* by node_columns_encode, in `bytes` */
    uint8_t bytes[NODE_COLUMN_COUNT][COLUMN_STRIDE];
};

/* Fills columns->encoded from at most LOG_NODES_PER_SEGMENT nodes; the first has the id
 * first_id. */
void node_columns_encode(struct node_columns *columns, const struct log_node *nodes, size_t n_nodes,
                         uint32_t first_id);

/* The inverse; false if damaged. */
bool node_columns_decode(struct node_columns *columns, const struct column_bytes *in,
                         struct log_node *nodes, size_t n_nodes, uint32_t first_id);

#endif
