/* SPDX-License-Identifier: MIT */
/*
 * symbol_rows: writes the results of jobs as rows of functions, sources, frame_lines and objects.
 *
 * Names get database-wide numbers in the order of the jobs, so that the result does not depend on
 * the speed of threads.
 */
#ifndef MTRACE_IMPORTER_SYMBOL_ROWS_H
#define MTRACE_IMPORTER_SYMBOL_ROWS_H

#include "importer/symbols/symbol_jobs.h"
#include "lib/base/error.h"
#include "lib/base/intern.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* A frame of the database and the position of its levels. */
struct symbol_frame {
    int64_t frame_id;
    struct symbol_job *job; /* NULL: outside any object */
    uint32_t position;      /* in the job; without one: number of its name, or SYMBOL_NONE */
};

/* Replaces the rows. `frames` are sorted by frame_id; kept_names has the names of frames without a
 * job. The levels of the jobs are renumbered. */
int symbol_rows_write(sqlite3 *db, struct symbol_job *jobs, size_t n_jobs,
                      const struct symbol_frame *frames, size_t n_frames,
                      const struct intern *kept_names, struct error *err);

#endif
