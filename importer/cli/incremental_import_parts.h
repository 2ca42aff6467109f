/* SPDX-License-Identifier: MIT */
/*
 * standing_import_parts: the inside of a standing import, for what saves and loads its state and for what writes databases of it.
 *
 * Model, invariants, threads and failure are those of incremental_import.h.
 */
#ifndef MTRACE_IMPORTER_INCREMENTAL_IMPORT_PARTS_H
#define MTRACE_IMPORTER_INCREMENTAL_IMPORT_PARTS_H

#include "importer/cli/import_parts.h"
#include "importer/model/stable_ids.h"
#include "importer/read/log_set.h"

/* By which the times of what is kept were made. A thread that is held up for long between looking at the clocks and writing that
 * down may change it. */
struct kept_clock {
    uint64_t final_ticks, digest;
};

struct incremental_import {
    const struct import_options *options;
    struct import import; /* facts NULL: nothing is kept */
    struct stream_state stream;
    struct stable_ids stable_ids;
    struct state_memo memo; /* of the state that was saved last */
    size_t samples_capacity;
    struct kept_clock *clocks; /* by process - 1 */
    size_t n_clocks, clocks_capacity;
    struct log_set_past *pasts; /* by process - 1; only if is_sole */
    size_t n_pasts, pasts_capacity;
    const char *why;                 /* it is not the beginning of the log any more; NULL: it is */
    struct statistics_limits limits; /* all 0 if not is_sole */
    bool keeps_logs;                 /* the next advance does not open them again */
    bool is_sole;        /* segments that were taken in may be gone: nothing can begin anew */
    uint64_t most_bytes; /* of events that an advance takes in; 0: any */
    bool is_behind;      /* the last one left some for that */
    bool has_no_rows;    /* none can be written of what is kept */
    bool is_unfit;       /* nothing can be kept of this recording */
    /* Of the databases of children: of those that lack something without views, as mtrace-query alone opens them. */
    struct database_blank whole, small;
    uint64_t cut_ns; /* of the last cut, as log_set_cut; 0: it lies in what was read before */
    /* Of the cut that is made, when all that was before its instant is known to be in the log. 0: it is not known */
    uint64_t sure_mark, final_ticks;
    uint64_t opening_ns; /* of the last advance, and of each time that it began */
    unsigned n_beginnings;
};

void incremental_import_forget(struct incremental_import *incremental);

int incremental_import_open_logs(struct incremental_import *incremental, struct error *err);

/* New facts of the log that is open, for as much as there is and more, and at least for `least`. */
int incremental_import_make_facts(struct incremental_import *incremental,
                                  const struct statistics_room *least, struct error *err);

/* The facts as they are, for as many threads, stacks and groups as the log that is open has by now. */
int incremental_import_make_room(struct incremental_import *incremental, struct error *err);

/* Room for where the samples of each log are. */
int incremental_import_reserve_samples(struct incremental_import *incremental, struct error *err);

/* Can what is kept of this recording go on, or begin? */
bool incremental_import_is_fit(const struct incremental_import *incremental);

/* What is kept goes on with the log that is open. *ret_is_other: it does not belong to it. */
int incremental_import_go_on(struct incremental_import *incremental, bool *ret_is_other,
                             struct error *err);

/* Takes in what is certain up to this CLOCK_MONOTONIC. *ret_is_other: an event lies before what was taken in. */
int incremental_import_read_to_mark(struct incremental_import *incremental, uint64_t until_ns,
                                    bool *ret_is_other, struct error *err);

/* ERROR_FORMAT: what is kept is not the beginning of the log any more, and nothing can begin anew. */
int incremental_import_fail_sole(const struct incremental_import *incremental, struct error *err);

/* The clocks of the logs that are open. */
int incremental_import_take_pasts(struct incremental_import *incremental, struct error *err);

#endif
