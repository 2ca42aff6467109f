/* SPDX-License-Identifier: MIT */
/*
 * symbol_jobs: symbolizes objects in parallel, each by one thread.
 *
 * A job is an object with the positions of its frames. Workers take the largest first and keep
 * results in the job's own memory; they share only the list of jobs. Cached positions are not
 * looked up again, and new results are added to the cache.
 *
 * Invariants
 *   SJ-1 After symbol_jobs_run has returned 0, every position of every job has a level.
 *
 * Errors: the first failure of a job ends the run.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_JOBS_H
#define MTRACE_IMPORTER_SYMBOL_JOBS_H

#include "importer/symbols/symbol_cache.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"
#include "symbolizer/kept_file.h"
#include "symbolizer/symbolizer.h"
#include "symbolizer/symbolizer_options.h"

#include <stddef.h>
#include <stdint.h>

/* How functions and lines are looked up. */
struct symbols_options {
    struct symbolizer_options symbolizer;
    unsigned n_threads;        /* at most; 0: as many as there are processors */
    const char *cache_dir;     /* results of earlier imports, by build-id; NULL: no cache */
    struct progress *progress; /* polled a few times a second; NULL: none */
};

struct symbol_job {
    int64_t object_id;
    char *path;
    char *build_id; /* NULL: unknown, as is the next */
    char *architecture;
    char **other_paths;    /* NULL-terminated; NULL: none */
    struct kept_file kept; /* the file's data in the database */
    struct symbolizer_position *positions;
    size_t n_positions, n_allocated;

    struct symbol_span *spans; /* per position, into store */
    struct symbol_store store; /* may hold more, from the cache */
    char *debug_path;
    char *note;
    struct error err;
};

/* Fills the second half of every job. */
int symbol_jobs_run(struct symbol_job *jobs, size_t n_jobs, const struct symbols_options *options,
                    struct error *err);

void symbol_job_done(struct symbol_job *job);

#endif
