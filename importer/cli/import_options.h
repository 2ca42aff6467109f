/* SPDX-License-Identifier: MIT */
/* import_options: options and results of an import. */
#ifndef MTRACE_IMPORTER_IMPORT_OPTIONS_H
#define MTRACE_IMPORTER_IMPORT_OPTIONS_H

#include "importer/log/log_file.h"
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
    bool is_passing;          /* the target is temporary: it need not be synced to the disk */
    bool only;                /* without the logs of children */
    const char *until_marker; /* as in log_set_options, both */
    uint64_t until_ns;
    /* time of the marker in the first log, which saves incremental_import_cut the search; 0:
     * unknown */
    uint64_t marker_ticks;
    /* for incremental_import_cut: the only process reported, which also has the marker; 0: all */
    uint64_t run_id;
    bool slim;              /* no rows of allocations */
    bool is_early;          /* of a growing log: a later round adds what is omitted */
    bool is_aggregate;      /* with slim: the log is bounded and has no more */
    enum left_out left_out; /* with slim: what else is omitted */
    bool index;             /* with a sorted list of allocations by stack */
    bool no_symbols;        /* without functions and lines */
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
    /* the child that wrote the database was killed; it was written without a child */
    bool has_lost_writer;
    /* the program's malloc is not mtrace's: nothing was recorded */
    bool foreign_malloc;
    struct log_damage_report damage; /* use only the numbers: strings were freed with the logs */
    char damage_text[1024];          /* a line for each of the first entries; "" if none */
    char unseen_text
        [512]; /* "jemalloc inside '/the/program' are not …" (why): the first of n_unseen */
};

#endif
