/* SPDX-License-Identifier: MIT */
/*
 * import_parts: one import as its steps, for what keeps the first of them between rounds.
 *
 * Model, invariants, threads and failure are those of import.h.
 */
#ifndef MTRACE_IMPORTER_IMPORT_PARTS_H
#define MTRACE_IMPORTER_IMPORT_PARTS_H

#include "importer/cli/import_options.h"
#include "importer/read/sample_stream.h"
#include "importer/read/stream_state.h"
#include "importer/totals/row_spool.h"
#include "importer/totals/statistics.h"
#include "importer/write/database.h"
#include "importer/write/event_rows.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

struct import {
    const struct import_options *options;
    struct progress *progress;
    struct log_set *logs;
    const struct database_blank *blank; /* NULL: none */
    struct database *database;
    struct event_rows *rows;
    struct statistics *facts;
    /* of what was read before; all zero: nothing */
    struct row_spool *kept;
    struct statistics_ids ids;
    struct stream_state *stream;
    struct sample_place *samples; /* by process - 1 */
};

/* Facts of the events up to `mark` (event_stream_resume). */
int import_read(struct import *import, uint64_t mark, struct error *err);

/* When the first marker of the name is among the events of the set, which is then to be cut (log_set_cut). process 0: of any. */
int import_find_marker(struct import *import, const char *name, uint32_t process,
                       bool *ret_is_found, uint64_t *ret_ns, struct error *err);

/* Reads what is left and makes the database. The facts are used up. */
int import_write(struct import *import, struct import_result *result, struct error *err);

#endif
