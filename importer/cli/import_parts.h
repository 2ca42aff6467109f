/* SPDX-License-Identifier: MIT */
/*
 * import_parts: the steps of an import, for incremental imports, which keep the first ones between
 * rounds.
 *
 * Everything else is described in import.h.
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
    const struct database_blank *blank; /* template of an empty database; NULL: none */
    struct database *database;
    struct event_rows *rows;
    struct statistics *facts;
    /* results of earlier reading; all zero: none */
    struct row_spool *kept;
    struct statistics_ids ids;
    struct stream_state *stream;
    struct sample_place *samples; /* by process - 1 */
};

/* Reads the events up to `mark` (event_stream_resume) into import->facts. */
int import_read(struct import *import, uint64_t mark, struct error *err);

/* Time of the first marker of this name in the set. process 0: of any. The set must be cut
 * afterwards (log_set_cut). */
int import_find_marker(struct import *import, const char *name, uint32_t process,
                       bool *ret_is_found, uint64_t *ret_ns, struct error *err);

/* Reads the remaining events and writes the database. The facts cannot be used afterwards. */
int import_write(struct import *import, struct import_result *result, struct error *err);

#endif
