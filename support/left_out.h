/* SPDX-License-Identifier: MIT */
/*
 * left_out: tables that a lean import leaves out, because they take as long as the rest of it: what blames call sites, what counts pages
 * and parts of lives, what compares moments. Whoever asks such a database about them must not be answered by nothing.
 */
#ifndef MTRACE_LEFT_OUT_H
#define MTRACE_LEFT_OUT_H

#include <stddef.h>
#include <string.h>

#define LEFT_OUT_META "lean" /* the key of meta that says 1 in such a database */

/* What mtrace-query --about ends with when the database was made without what the question is about, rows included: one that has
 * more may answer it. */
#define LEFT_OUT_EXIT 4

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

#endif
