/* SPDX-License-Identifier: MIT */
/*
 * left_out: tables that a lean import leaves out, because they take as long as the rest of it: what blames call sites, what counts pages
 * and parts of lives, what compares moments; and those of single blocks, which a slim one leaves out, too. Whoever asks such a database
 * about them must not be answered by nothing.
 */
#ifndef MTRACE_LEFT_OUT_H
#define MTRACE_LEFT_OUT_H

#include <stddef.h>
#include <string.h>

#define LEFT_OUT_META "lean" /* the key of meta that says 1 in such a database */

/* What mtrace-query --about ends with when the database was made without what the question is about: one that has more may answer it. */
#define LEFT_OUT_EXIT      4
#define LEFT_OUT_ROWS_EXIT 6 /* one that has rows of single blocks */

/* What mtrace-query --needs ends with: more by one of these. */
#define LEFT_OUT_NEEDS_EXIT 16

enum left_out_needs {
    LEFT_OUT_NEEDS_TOTALS, /* a lean import answers it */
    LEFT_OUT_NEEDS_SITES,  /* a slim one */
    LEFT_OUT_WANTS_ROWS,   /* a slim one in part, one with rows wholly */
    LEFT_OUT_NEEDS_ROWS,   /* nothing but rows */
};

/* To who asks for rows where a log has none. */
#define LEFT_OUT_BOUNDED                                                                       \
    "this question is about single blocks, which a log of --aggregate does not keep: ask for " \
    "totals, or record without --aggregate"

static const char *const left_out_tables[] = {
    "function_totals",   "module_totals",  "site_totals", "site_leaks",
    "site_frees",        "site_growth",    "snapshots",   "snapshot_backtraces",
    "suppressed_stacks", "snapshot_sites", "heap_states", "heap_pages",
    "heap_pins",         "leaked_births",  "site_shapes",
};

/* The name of the table, if it is one of them; else NULL. */
static inline const char *left_out_find(const char *table)
{
    for (size_t i = 0; i < sizeof left_out_tables / sizeof *left_out_tables; i++)
        if (strcmp(left_out_tables[i], table) == 0)
            return left_out_tables[i];
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
