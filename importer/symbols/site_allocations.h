/* SPDX-License-Identifier: MIT */
/*
 * site_births: the table site_births: in which part of a life the blocks were born that a call site leaks.
 *
 * Model:   what the view _site_births answers; counted here, because SQLite would join and sort each part of each stack.
 * Memory:  32 bytes for each part of a call site.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_ALLOCATIONS_H
#define MTRACE_IMPORTER_SITE_ALLOCATIONS_H

#include "importer/symbols/site_totals.h"
#include "importer/symbols/stack_rules.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"

#include <sqlite3.h>

/* Into the empty table. births: of pair_totals_entry, what leaked_allocations says; NULL: the table does. */
int site_allocations_write(sqlite3 *db, const struct site_of_stack *sites,
                           const struct stack_rules *rules, const struct hash_map *allocations,
                           struct error *err);

#endif
