/* SPDX-License-Identifier: MIT */
/*
 * left_out: tables that a reduced import omits because they take longer than the rest of it.
 *
 * In the order of enum left_out: counts of single pages, time buckets and moments of stacks; the
 * parts of heaps; leaks and patterns of call sites; other totals of call sites; stacks. A slim
 * database also omits the rows of single blocks. A query about an omitted table must fail, not
 * return nothing.
 */
#ifndef MTRACE_LIB_LEFT_OUT_H
#define MTRACE_LIB_LEFT_OUT_H

#include <stddef.h>
#include <string.h>

#define LEFT_OUT_META "lean" /* key in meta; its value is the database's enum left_out */

/* Each includes all before it. */
enum left_out {
    LEFT_OUT_NOTHING,
    LEFT_OUT_MOMENTS, /* values and places of stacks; totals of functions and files */
    LEFT_OUT_HEAPS,   /* the parts of each heap */
    LEFT_OUT_LEAKS,   /* leaks of call sites, their patterns and growth */
    LEFT_OUT_SITES,   /* other totals of call sites */
    LEFT_OUT_STACKS,  /* stacks, and all code */
};

/* Exit status of mtrace-query --about if the database lacks what the query needs; a fuller one may
 * answer it. */
#define LEFT_OUT_EXIT      4
#define LEFT_OUT_ROWS_EXIT 6 /* the same: rows of single blocks are needed */

/* First packet (one byte) of mtrace-query --await on the socket that is its standard input. It
 * continues when a byte comes back, and ends if the other end is closed. So the caller can make the
 * database in the meantime and need not start a second process. */
enum left_out_needs {
    LEFT_OUT_NEEDS_LITTLE, /* an import without LEFT_OUT_STACKS answers it */
    LEFT_OUT_NEEDS_STACKS, /* one without LEFT_OUT_SITES */
    LEFT_OUT_NEEDS_SITES,  /* and so on */
    LEFT_OUT_NEEDS_LEAKS,
    LEFT_OUT_NEEDS_HEAPS,
    LEFT_OUT_NEEDS_MOMENTS, /* a slim one */
    LEFT_OUT_WANTS_ROWS,    /* a slim one in part, one with rows wholly */
    LEFT_OUT_NEEDS_ROWS,    /* nothing but rows */
};

/* Message for a query of rows that a bounded log does not have. */
#define LEFT_OUT_BOUNDED                                                                 \
    "this query needs single blocks, which a log of --aggregate does not keep: ask for " \
    "totals, or record without --aggregate"

static const struct {
    const char *name;
    enum left_out since; /* the least value that omits it */
} left_out_tables[] = {
    {"function_totals", LEFT_OUT_MOMENTS},
    {"module_totals", LEFT_OUT_MOMENTS},
    {"snapshot_backtraces", LEFT_OUT_MOMENTS},
    {"leaked_allocations", LEFT_OUT_MOMENTS},
    {"heap_pages", LEFT_OUT_MOMENTS},
    {"heap_pins", LEFT_OUT_MOMENTS},
    {"heap_states", LEFT_OUT_HEAPS},
    {"snapshots", LEFT_OUT_LEAKS},
    {"snapshot_sites", LEFT_OUT_LEAKS},
    {"site_leaks", LEFT_OUT_LEAKS},
    {"site_leak_times", LEFT_OUT_LEAKS},
    {"site_shapes", LEFT_OUT_LEAKS},
    {"site_growth", LEFT_OUT_LEAKS},
    {"suppressed_stacks", LEFT_OUT_LEAKS},
    {"site_totals", LEFT_OUT_SITES},
    {"site_frees", LEFT_OUT_SITES},
    {"backtraces", LEFT_OUT_STACKS},
    {"frames", LEFT_OUT_STACKS},
    {"frame_lines", LEFT_OUT_STACKS},
    {"functions", LEFT_OUT_STACKS},
    {"sources", LEFT_OUT_STACKS},
    {"call_sites", LEFT_OUT_STACKS},
    {"skipped_code", LEFT_OUT_STACKS},
    {"backtrace_totals", LEFT_OUT_STACKS},
    {"free_sites", LEFT_OUT_STACKS},
    {"chain_totals", LEFT_OUT_STACKS},
};

/* The name of the table if the database omits it; else NULL. */
static inline const char *left_out_find(const char *table, enum left_out left_out)
{
    for (size_t i = 0; i < sizeof left_out_tables / sizeof *left_out_tables; i++)
        if (left_out_tables[i].since <= left_out && strcmp(left_out_tables[i].name, table) == 0)
            return left_out_tables[i].name;
    return NULL;
}

/* Tables of single blocks, and the view that users know. */
static const struct {
    const char *table, *name;
} left_out_row_tables[] = {
    {"packed_allocation_rows", "allocations"},
    {"row_ranges", "allocations"},
    {"backtrace_allocations", "allocations"},
    {"group_rows", "allocations"},
    {"chain_rows", "realloc_chains"},
    {"realloc_chains", "realloc_chains"},
    {"group_moves", "group_moves"},
    {"pool_block_rows", "pool_blocks"},
};

/* Like left_out_find, but returns the name that users know. */
static inline const char *left_out_find_rows(const char *table)
{
    for (size_t i = 0; i < sizeof left_out_row_tables / sizeof *left_out_row_tables; i++)
        if (strcmp(left_out_row_tables[i].table, table) == 0)
            return left_out_row_tables[i].name;
    return NULL;
}

#endif
