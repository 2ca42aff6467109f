/* SPDX-License-Identifier: MIT */
/*
 * left_out: tables of single blocks, which a slim import omits. A query that reads one must fail,
 * not return nothing.
 */
#ifndef MTRACE_LIB_LEFT_OUT_H
#define MTRACE_LIB_LEFT_OUT_H

#include <stddef.h>
#include <string.h>

/* Exit status of mtrace-query --about if the query needs rows of single blocks and the database has
 * none. */
#define LEFT_OUT_EXIT 4

/* Message for a query of rows that a bounded log does not have. */
#define LEFT_OUT_BOUNDED                                                                 \
    "this query needs single blocks, which a log of --aggregate does not keep: ask for " \
    "totals, or record without --aggregate"

/* Tables of single blocks, and the view that users know. */
static const struct {
    const char *table, *name;
} left_out_tables[] = {
    {"packed_allocation_rows", "allocations"},
    {"row_ranges", "allocations"},
    {"backtrace_allocations", "allocations"},
    {"group_rows", "allocations"},
    {"chain_rows", "realloc_chains"},
    {"realloc_chains", "realloc_chains"},
    {"group_moves", "group_moves"},
    {"pool_block_rows", "pool_blocks"},
};

/* The name that users know, if a slim database omits the table; else NULL. */
static inline const char *left_out_find(const char *table)
{
    for (size_t i = 0; i < sizeof left_out_tables / sizeof *left_out_tables; i++)
        if (strcmp(left_out_tables[i].table, table) == 0)
            return left_out_tables[i].name;
    return NULL;
}

#endif
