/* SPDX-License-Identifier: MIT */
/*
 * symbol_jobs: objects symbolized side by side, one thread each.
 *
 * Model: a job is an object with the positions that its frames have. Workers take the largest first
 *        and keep what they find in the job's own memory; nothing is shared but the list of jobs.
 *        What the cache knows is not asked again, what was found goes into the cache.
 * Invariants: SJ-1 after symbol_jobs_run has returned 0 every position of every job has a level.
 * Failure: the first failure of a job ends the run.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_JOBS_H
#define MTRACE_IMPORTER_SYMBOL_JOBS_H

#include "importer/symbols/symbol_store.h"
#include "importer/symbols/symbols_options.h"
#include "lib/base/error.h"
#include "symbolizer/kept_file.h"
#include "symbolizer/symbolizer.h"

#include <stddef.h>
#include <stdint.h>

struct symbol_job {
    int64_t object_id;
    char *path;
    char *build_id; /* NULL: unknown, as is the next */
    char *architecture;
    char **other_paths;    /* NULL-terminated; NULL: none */
    struct kept_file kept; /* what the database has of the file */
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
