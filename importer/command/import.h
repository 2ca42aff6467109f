/* SPDX-License-Identifier: MIT */
/*
 * import: from logs to a finished database.
 *
 * Model:   one call reads the logs, writes facts (facts.h), symbols (symbols.h), totals of
 * functions and the canned views, and puts the database in its place. Invariants: IM-1 the target
 * appears complete or not at all (DB-1, DB-2). IM-2 a damaged log gives everything that can be
 * read, and says in the result what could not. Threads: one caller; the log is read ahead, rows are
 * made and objects symbolized in threads of their own. Failure: one clear line; nothing is printed
 * but progress.
 */
#ifndef MTRACE_IMPORTER_IMPORT_H
#define MTRACE_IMPORTER_IMPORT_H

#include "importer/events/log_set.h"
#include "importer/symbols/symbols.h"
#include "support/error.h"
#include "support/progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_options {
    const char *const *logs;
    size_t n_logs;
    const char *target;
    bool force;      /* replace the target */
    bool only;       /* not the logs of children */
    bool slim;       /* no rows of allocations */
    bool index;      /* a sorted list of allocations by stack */
    bool no_symbols; /* no functions and lines */
    struct symbols_options symbols;
};

struct import_result {
    uint64_t n_events, n_allocations, n_dropped, n_anomalies;
    uint64_t log_bytes, database_bytes;
    uint32_t n_processes;
    uint32_t n_partial; /* of them recorded late, or not all the time */
    uint64_t n_untold;  /* modules whose code has no names, because too many were loaded at once */
    uint32_t n_unseen;  /* of them with an allocator inside, whose blocks are missing */
    double seconds;
    bool is_growing;                 /* somebody still wrote to the log when it was opened */
    bool foreign_malloc;             /* the program's malloc was not ours: nothing was recorded */
    struct log_damage_report damage; /* strings are gone with the logs: use only numbers */
    char damage_text[1024];          /* a line for each of the first, "" if none */
    char unseen_text
        [512]; /* "jemalloc inside '/the/program' are not …" (why): the first of n_unseen */
};

/* ret_result is meaningful on success only. */
int import_run(const struct import_options *options, struct progress *progress,
               struct import_result *ret_result, struct error *err);

/* Functions, lines, call sites and their totals of an existing database anew. */
int import_resymbolize(const char *target, const struct symbols_options *symbols,
                       struct progress *progress, struct error *err);

#endif
