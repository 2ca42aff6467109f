/* SPDX-License-Identifier: MIT */
/*
 * left_out: tables that a lean import leaves out, because they take longer than the rest of it: what counts single pages, parts of lives and
 * moments of stacks; what heaps are made of; what call sites leak, and how; what else they add up to; stacks; and those of single blocks, which a
 * slim one leaves out, too. Whoever asks such a database about them must not be answered by nothing.
 */
#ifndef MTRACE_LIB_LEFT_OUT_H
#define MTRACE_LIB_LEFT_OUT_H

#include <stddef.h>
#include <string.h>

#define LEFT_OUT_META "lean" /* the key of meta that says which enum left_out in such a database */

/* Each with all before it. */
enum left_out {
    LEFT_OUT_NOTHING,
    LEFT_OUT_MOMENTS, /* what stacks had, and where; what functions and files add up to */
    LEFT_OUT_HEAPS,   /* what each of them is made of */
    LEFT_OUT_LEAKS,   /* what call sites leak, in which pattern, and how they grow */
    LEFT_OUT_SITES,   /* what else they add up to */
    LEFT_OUT_STACKS,  /* and all code */
};

/* What mtrace-query --about ends with when the database was made without what the question is about: one that has more may answer it. */
#define LEFT_OUT_EXIT      4
#define LEFT_OUT_ROWS_EXIT 6 /* one that has rows of single blocks */

/* What mtrace-query --await says first, in a packet of one byte to the socket that is its standard input. It goes on when one comes back, and ends
 * when there is nobody: who has the database made meanwhile need not start it a second time. */
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

/* To who asks for rows where a log has none. */
#define LEFT_OUT_BOUNDED                                                                       \
    "this question is about single blocks, which a log of --aggregate does not keep: ask for " \
    "totals, or record without --aggregate"

static const struct {
    const char *name;
    enum left_out since; /* the least that it is part of */
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
    {"site_births", LEFT_OUT_LEAKS},
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

/* The name of the table, if it is one of those; else NULL. */
static inline const char *left_out_find(const char *table, enum left_out left_out)
{
    for (size_t i = 0; i < sizeof left_out_tables / sizeof *left_out_tables; i++)
        if (left_out_tables[i].since <= left_out && strcmp(left_out_tables[i].name, table) == 0)
            return left_out_tables[i].name;
    return NULL;
}

/* Tables of single blocks, and the view by which a person knows them. */
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

/* As left_out_find, but the name that a person knows. */
static inline const char *left_out_find_rows(const char *table)
{
    for (size_t i = 0; i < sizeof left_out_row_tables / sizeof *left_out_row_tables; i++)
        if (strcmp(left_out_row_tables[i].table, table) == 0)
            return left_out_row_tables[i].name;
    return NULL;
}

#endif
