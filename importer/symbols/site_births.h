/* SPDX-License-Identifier: MIT */
/*
 * site_births: the table site_births: in which part of a life the blocks were born that a call site leaks.
 *
 * Model:   what the view _site_births answers; counted here, because SQLite would join and sort each part of each stack.
 * Memory:  32 bytes for each part of a call site, 12 for each stack that a rule suppresses.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_BIRTHS_H
#define MTRACE_IMPORTER_SITE_BIRTHS_H

#include "support/error.h"
#include "support/keyed.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Into the empty table. Needs suppressed_stacks. site_of_stack: call sites by backtrace_id below n_stacks; 0: none. births: of tally_entry, what leaked_births
 * says; NULL: the table does. */
int site_births_write(sqlite3 *db, const uint32_t *site_of_stack, size_t n_stacks,
                      const struct keyed *births, struct error *err);

#endif
