/* SPDX-License-Identifier: MIT */
/*
 * incremental_import_parts: struct incremental_import, for the files that save, load and write it.
 *
 * Everything else is described in incremental_import.h.
 */
#ifndef MTRACE_IMPORTER_INCREMENTAL_IMPORT_PARTS_H
#define MTRACE_IMPORTER_INCREMENTAL_IMPORT_PARTS_H

#include "importer/cli/import_parts.h"
#include "importer/model/stable_ids.h"
#include "importer/read/log_set.h"

/* Identifies the clock map that the kept times were made with. A clock pair that a delayed thread
 * writes late may change it. */
struct kept_clock {
    uint64_t final_ticks, digest;
};

struct incremental_import {
    const struct import_options *options;
    struct import import; /* facts NULL: nothing was imported */
    struct stream_state stream;
    struct stable_ids stable_ids;
    struct state_memo memo; /* of the last saved state */
    size_t samples_capacity;
    struct kept_clock *clocks; /* by process - 1 */
    size_t n_clocks, clocks_capacity;
    struct log_set_past *pasts; /* by process - 1; only if is_sole */
    size_t n_pasts, pasts_capacity;
    /* why the kept part is no longer the beginning of the log; NULL: it is */
    const char *why;
    struct statistics_limits limits; /* all 0 unless is_sole */
    bool keeps_logs;                 /* the next advance does not open them again */
    bool is_sole;        /* imported segments may be removed: no new start is possible */
    uint64_t most_bytes; /* limit of an advance; 0: none */
    bool is_behind;      /* the last advance reached it */
    bool has_no_rows;    /* no rows can be written of the kept part */
    bool is_unfit;       /* nothing of this recording can be kept */
    /* Templates for databases written by children. Those that omit tables have no views, since only
     * mtrace-query opens them. */
    struct database_blank whole, small;
    uint64_t cut_ns; /* time of the last cut, as in log_set_cut; 0: it lies in the imported part */
    /* For the current cut, if everything before its time is known to be in the log; 0: it is not
     * known. */
    uint64_t sure_mark, final_ticks;
    uint64_t opening_ns; /* of the last advance, including restarts */
    unsigned n_beginnings;
};

void incremental_import_forget(struct incremental_import *incremental);

int incremental_import_open_logs(struct incremental_import *incremental, struct error *err);

/* Creates facts with capacity for the open log and more, and at least for `least`. */
int incremental_import_make_facts(struct incremental_import *incremental,
                                  const struct statistics_room *least, struct error *err);

/* Moves the facts to ones with capacity for the threads, stacks and groups that the open log has
 * now. */
int incremental_import_make_room(struct incremental_import *incremental, struct error *err);

/* Allocates the sample positions of each log. */
int incremental_import_reserve_samples(struct incremental_import *incremental, struct error *err);

/* True if an import of this recording can be kept or begun. */
bool incremental_import_is_fit(const struct incremental_import *incremental);

/* Continues the kept part with the open log. *ret_is_other: it does not belong to the log. */
int incremental_import_go_on(struct incremental_import *incremental, bool *ret_is_other,
                             struct error *err);

/* Imports what is certain up to this CLOCK_MONOTONIC. *ret_is_other: an event lies before the
 * imported part. */
int incremental_import_read_to_mark(struct incremental_import *incremental, uint64_t until_ns,
                                    bool *ret_is_other, struct error *err);

/* Sets ERROR_FORMAT: the kept part is not the beginning of the log, and no new start is
 * possible. */
int incremental_import_fail_sole(const struct incremental_import *incremental, struct error *err);

/* Saves the clocks of the open logs. */
int incremental_import_take_pasts(struct incremental_import *incremental, struct error *err);

#endif
