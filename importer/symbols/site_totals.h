/* SPDX-License-Identifier: MIT */
/*
 * site_sums: site_totals, site_frees and site_leaks counted from what the import has in memory.
 *
 * Model:   each table is what the view of its name with an underscore in front answers, in the same order and, as numbers with fractions
 *          are added in the order of stacks, to the last bit. SQLite would read, join and sort what was written a moment before.
 * Memory:  8 bytes per stack, some 300 for each call site and what it is counted by.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_TOTALS_H
#define MTRACE_IMPORTER_SITE_TOTALS_H

#include "importer/symbols/call_sites.h"
#include "importer/symbols/stack_rules.h"
#include "importer/totals/statistics.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* Into the empty tables site_totals and site_frees. After statistics_finish, with the ids of the database. */
int site_totals_write_totals(sqlite3 *db, const struct statistics *facts,
                             const struct site_of_stack *sites, struct error *err);

/* Into the empty table site_leaks. Needs site_shapes. */
int site_totals_write_leaks(sqlite3 *db, const struct statistics *facts,
                            const struct site_of_stack *sites, const struct stack_rules *rules,
                            struct error *err);

#endif
