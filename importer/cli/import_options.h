/* SPDX-License-Identifier: MIT */
/*
 * import_options: what an import is asked for, and what it says of itself.
 */
#ifndef MTRACE_IMPORTER_IMPORT_OPTIONS_H
#define MTRACE_IMPORTER_IMPORT_OPTIONS_H

#include "importer/log/log_damage.h"
#include "importer/symbols/symbols.h"
#include "lib/logfile/left_out.h"
#include "lib/logfile/unreached.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_options {
    const char *const *logs;
    size_t n_logs;
    const char *target;
    bool force;               /* replace the target */
    bool is_passing;          /* the target is removed soon, and need not get to the disk */
    bool only;                /* not the logs of children */
    const char *until_marker; /* of log_set_options, both */
    uint64_t until_ns;
    uint64_t
        marker_ticks; /* of the first log; 0: not known. incremental_import_cut need not look for the marker then */
    uint64_t
        run_id; /* of incremental_import_cut: the log whose process alone is told, and whose marker it is; 0: of all */
    bool slim;  /* no rows of allocations */
    bool is_early;          /* of a log that grows: what is left out comes with its end */
    bool is_aggregate;      /* with slim: of a bounded log, which has no more */
    enum left_out left_out; /* with slim: what else */
    bool index;             /* a sorted list of allocations by stack */
    bool no_symbols;        /* no functions and lines */
    struct symbols_options symbols;
};

struct import_result {
    uint64_t n_events, n_dropped, n_anomalies;
    uint64_t n_allocations; /* those without a row, too */
    uint64_t log_bytes, database_bytes;
    uint32_t n_processes;
    uint32_t n_partial;      /* of them recorded late, or not all the time */
    uint64_t n_missed_frees; /* of blocks at whose address another one was allocated */
    struct unreached unreached;
    uint64_t n_nameless;      /* modules without names, as their files are not here */
    char nameless_path[1024]; /* of one of them */
    uint64_t
        n_unreported;  /* modules whose code has no names, because too many were loaded at once */
    uint32_t n_unseen; /* of them with an allocator inside, whose blocks are missing */
    double seconds;
    bool is_bounded; /* its log is one of --aggregate */
    bool is_growing; /* somebody still wrote to the log when it was opened */
    bool
        has_lost_writer; /* the process that a round is written by was killed; it was written all the same */
    bool foreign_malloc;             /* the program's malloc was not ours: nothing was recorded */
    struct log_damage_report damage; /* strings are gone with the logs: use only numbers */
    char damage_text[1024];          /* a line for each of the first, "" if none */
    char unseen_text
        [512]; /* "jemalloc inside '/the/program' are not …" (why): the first of n_unseen */
};

#endif
