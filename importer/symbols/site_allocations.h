/* SPDX-License-Identifier: MIT */
/*
 * site_allocations: the table site_leak_times: the time buckets in which the leaked blocks
 * of each call site were allocated.
 *
 * It has the result of the view _site_leak_times, counted here because SQLite would
 * join and sort each bucket of each stack.
 *
 * Memory: 32 bytes for each bucket of a call site.
 * Errors: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_ALLOCATIONS_H
#define MTRACE_IMPORTER_SITE_ALLOCATIONS_H

#include "importer/symbols/site_totals.h"
#include "importer/symbols/stack_rules.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"

#include <sqlite3.h>

/* Fills the empty table. allocations: leaked_allocations as pair_totals_entry; NULL: read the
 * table. */
int site_allocations_write(sqlite3 *db, const struct site_of_stack *sites,
                           const struct stack_rules *rules, const struct hash_map *allocations,
                           struct error *err);

#endif
