/* SPDX-License-Identifier: MIT */
/*
 * site_totals: the tables site_totals, site_frees and site_leaks, counted from data in memory.
 *
 * Each table has the result of the view of its name with a leading underscore, in the same order,
 * and bit-identical: floating point sums are added in order of stacks. SQLite would read, join and
 * sort rows that were just written.
 *
 * Memory: 8 bytes per stack, about 300 per call site and key.
 * Errors: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_TOTALS_H
#define MTRACE_IMPORTER_SITE_TOTALS_H

#include "importer/symbols/call_sites.h"
#include "importer/symbols/stack_rules.h"
#include "importer/totals/statistics.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* Fills the empty tables site_totals and site_frees. After statistics_finish, with the ids of the
 * database. */
int site_totals_write_totals(sqlite3 *db, const struct statistics *statistics,
                             const struct site_of_stack *sites, struct error *err);

/* Fills the empty table site_leaks. Needs site_shapes. */
int site_totals_write_leaks(sqlite3 *db, const struct statistics *statistics,
                            const struct site_of_stack *sites, const struct stack_rules *rules,
                            struct error *err);

#endif
