/* SPDX-License-Identifier: MIT */
/*
 * import: makes a database from logs. Options, results, and the steps of an import.
 *
 * One call reads the logs, writes rows and totals (statistics.h), symbols (symbols.h), totals of
 * functions and the views, and renames the database to the target. Incremental imports keep the
 * first steps between rounds.
 *
 * Invariants
 *   IM-1 The target appears complete or not at all (DB-1, DB-2).
 *   IM-2 From a damaged log everything readable is imported; the result says what is missing.
 *
 * Threads: one caller. Reading ahead, making rows and symbolizing use threads of their own.
 * Errors: one line. Nothing is printed except progress.
 */
#ifndef MTRACE_IMPORTER_IMPORT_H
#define MTRACE_IMPORTER_IMPORT_H

#include "importer/image/heap_images.h"
#include "importer/log/log_file.h"
#include "importer/read/sample_stream.h"
#include "importer/read/stream_state.h"
#include "importer/symbols/symbols.h"
#include "importer/totals/row_spool.h"
#include "importer/totals/statistics.h"
#include "importer/write/database.h"
#include "importer/write/event_rows.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"
#include "lib/logfile/unreached.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_options {
    const char *const *logs;
    size_t n_logs;
    const char *target;
    struct heap_images_options images;
    bool force;               /* replace the target */
    bool is_passing;          /* the target is temporary: it need not be synced to the disk */
    bool only;                /* without the logs of children */
    const char *until_marker; /* as in log_set_options, both */
    uint64_t until_ns;
    /* for incremental_import_cut: time of the marker in the log of run_id; 0: use until_ns */
    uint64_t marker_ticks;
    /* for incremental_import_cut: the only process reported, which also has the marker; 0: all */
    uint64_t run_id;
    bool slim;         /* no rows of allocations */
    bool is_early;     /* of a growing log: a later round adds what is omitted */
    bool is_aggregate; /* with slim: the log is bounded and has no more */
    bool index;        /* with a sorted list of allocations by stack */
    bool no_symbols;   /* without functions and lines */
    const int
        *files_lock; /* to be unlocked when everything was read (log_rotation.h); NULL: none */
    struct symbols_options symbols;
};

struct import_result {
    uint64_t n_events, n_dropped, n_anomalies;
    uint64_t n_allocations; /* including those without a row */
    uint64_t log_bytes, database_bytes;
    uint32_t n_processes;
    uint32_t n_partial;      /* of n_processes: recorded late or not all the time */
    uint64_t n_missed_frees; /* blocks whose address was allocated again without a free */
    struct unreached unreached;
    uint64_t n_nameless;      /* modules without names because their files are missing */
    char nameless_path[1024]; /* path of one of them */
    uint64_t n_unreported;    /* modules without names because too many were loaded */
    uint32_t n_unseen; /* of n_processes: with an embedded allocator, whose blocks are missing */
    double seconds;
    bool is_bounded; /* the log is bounded (--aggregate) */
    bool is_growing; /* the log was still being written when it was opened */
    /* the program's malloc is not mtrace's: nothing was recorded */
    bool foreign_malloc;
    struct log_damage_report damage; /* use only the numbers: strings were freed with the logs */
    char damage_text[1024];          /* a line for each of the first entries; "" if none */
    struct heap_images_result images;
    char unseen_text[512]; /* "jemalloc inside '/the/program' are not …" (why): the first of
                              n_unseen */
};

/* ret_result is valid on success only. */
int import_run(const struct import_options *options, struct progress *progress,
               struct import_result *ret_result, struct error *err);

/* Makes functions, lines, call sites and their totals of an existing database again. */
int import_resymbolize(const char *target, const struct symbols_options *symbols,
                       struct progress *progress, struct error *err);

/* ---- steps of an import, for incremental_import.h ---- */

struct import {
    const struct import_options *options;
    struct progress *progress;
    struct log_set *logs;
    const struct database_blank *blank; /* template of an empty database; NULL: none */
    struct database *database;
    struct event_rows *rows;
    struct statistics *statistics;
    /* results of earlier reading; all zero: none */
    struct row_spool *kept;
    struct statistics_ids ids;
    struct stream_state *stream;
    struct sample_place *samples; /* by process - 1 */
};

/* Reads the events up to `mark` (event_stream_resume) into import->statistics. */
int import_read(struct import *import, uint64_t mark, struct error *err);

/* Time of the first marker of this name in the set. process 0: of any. The set must be cut
 * afterwards (log_set_cut). */
int import_find_marker(struct import *import, const char *name, uint32_t process,
                       bool *ret_is_found, uint64_t *ret_ns, struct error *err);

/* Reads the remaining events and writes the database. The statistics cannot be used afterwards. */
int import_write(struct import *import, struct import_result *result, struct error *err);

#endif
