/* SPDX-License-Identifier: MIT */
/*
 * incremental_import: an import that stays in memory while the log grows, so that a database of it
 * can be written at any time.
 *
 * incremental_import_advance opens the log as it is now and imports the events up to the watermark
 * (log_set_watermark), before which no new event can come. incremental_import_write and _cut also
 * read the events after it and write a slim database, in a forked child, whose changes are lost
 * when it exits. So a database has everything that the log has, and only what is certain is kept.
 *
 * An event that comes after all is counted at the watermark (SX-4). If the log cannot continue the
 * kept part (another log, a late clock reading, no capacity for its names), the kept part is
 * discarded. Then a plain log is read once more from its start. The owner of a bounded log, whose
 * segments may be removed, loads the last checkpoint again.
 *
 * A cut is a database as of a time. It is made from the kept part if that ends before the time, and
 * by import_run otherwise. It may report a single process (run_id).
 *
 * Invariants
 *   KI-1 Except for the times of late events, a slim database equals an import of the log as it was
 *        at the last advance, and a cut an import up to its time.
 *   KI-2 The time of an advance grows with new events, definitions, frame headers and 64 bytes per
 *        segment. The time of a database grows with live blocks, peak blocks, stacks and events
 *        after the watermark. Memory is that of one import plus stable ids (NU-3), peak blocks and
 *        open segments.
 *   KI-4 An import that was saved, loaded and continued makes the same database as one that was
 *        not, although segments that were done are removed. Exceptions are times where a slow
 *        writer was not waited for (CM-5), and late events.
 *
 * Threads: one caller; no thread of the importer runs between calls.
 * Errors: as in import.h. If a child is killed or cannot be started, ERROR_NOMEM; the kept part
 * stays.
 */
#ifndef MTRACE_IMPORTER_INCREMENTAL_IMPORT_H
#define MTRACE_IMPORTER_INCREMENTAL_IMPORT_H

#include "importer/cli/import.h"
#include "importer/log/checkpoint_io.h"
#include "importer/model/stable_ids.h"
#include "importer/read/log_set.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* A process that writes nothing must not hold up the others, nor the removal of a bounded log:
 * events this old are certain. */
#define IDLE_TIME_LIMIT_NS UINT64_C(2000000000)

struct incremental_import;

/* logs, target and `only` of the options apply to all databases; they must live as long. Close with
 * incremental_import_close. */
int incremental_import_open(const struct import_options *options, struct progress *progress,
                            struct incremental_import **ret, struct error *err);

/* Before the first advance: the log is bounded, so imported segments may be removed from it, and
 * data that would grow as long as the program runs has limits. */
void incremental_import_be_bounded(struct incremental_import *incremental);

/* Accepts NULL. */
void incremental_import_close(struct incremental_import *incremental);

/* Imports events up to until_ns of CLOCK_MONOTONIC; UINT64_MAX: all that are certain. */
int incremental_import_advance(struct incremental_import *incremental, uint64_t until_ns,
                               struct error *err);

/* After an advance: writes a database in a child. here: in this process; then only close may be
 * called. ret_result is valid on success only. */
int incremental_import_write(struct incremental_import *incremental,
                             const struct import_options *options, bool here,
                             struct import_result *ret_result, struct error *err);

/* Advances up to until_ns, and writes a database as of the time that `options` name; everything up
 * to it must be in the log. With rows, or a time before the kept part, a plain log is imported from
 * its start. */
int incremental_import_cut(struct incremental_import *incremental,
                           const struct import_options *options, uint64_t until_ns,
                           struct import_result *ret_result, struct error *err);

/* True if the kept part of a bounded log was discarded. A process that starts with the last
 * checkpoint can continue (KI-4). */
bool incremental_import_is_lost(const struct incremental_import *incremental);

/* Cheap check: is any log still being written that was at the last advance? Before the first
 * advance: false. */
bool incremental_import_is_growing(const struct incremental_import *incremental);

/* Saves the kept part, as of the mark, in chunks (checkpoint_io.h), in this process or in a child.
 * Only after an advance that imported something. */
int incremental_import_save(struct incremental_import *incremental,
                            const struct checkpoint_io_sink *sink, struct error *err);

/* Instead of the first advance: loads a saved state of this recording (KI-4), and opens its
 * logs. The import is bounded from then on. */
int incremental_import_load(struct incremental_import *incremental,
                            const struct checkpoint_io_source *source, struct error *err);

/* True if the segment was imported completely and will not grow. It may then be removed. */
bool incremental_import_is_done(const struct incremental_import *incremental, uint64_t run_id,
                                uint64_t sequence);

/* Notes that all rotated logs before `first` of this log are done and will be removed, and what was
 * lost in them. */
void incremental_import_note_removed(struct incremental_import *incremental, size_t input,
                                     uint32_t first);
uint32_t incremental_import_first_rotated_number(const struct incremental_import *incremental,
                                                 size_t input);

/* Time up to which memory samples of this log were imported; CLOCK_MONOTONIC. */
uint64_t incremental_import_sample_ns(const struct incremental_import *incremental, size_t input);

/* The set as of the last advance, with everything that was listed; NULL before. */
const struct log_set *incremental_import_logs(const struct incremental_import *incremental);

/* Number of imported events. */
uint64_t incremental_import_n_kept(const struct incremental_import *incremental);

/* ---- for the files that save, load and write it ---- */

/* Identifies the clock map that the kept times were made with. A clock pair that a delayed thread
 * writes late may change it. */
struct kept_clock {
    uint64_t final_ticks, digest;
};

struct incremental_import {
    const struct import_options *options;
    struct import import; /* statistics NULL: nothing was imported */
    struct stream_state stream;
    struct stable_ids stable_ids;
    size_t samples_capacity;
    struct kept_clock *clocks; /* by process - 1 */
    size_t n_clocks, clocks_capacity;
    struct log_set_past *pasts; /* by process - 1; only if is_bounded */
    size_t n_pasts, pasts_capacity;
    const struct import_options *cut; /* while an advance is for this cut; NULL: none */
    const char *why;                  /* the log does not continue the kept part; NULL: it does */
    bool keeps_logs;                  /* the next advance does not open them again */
    bool is_bounded;                  /* imported segments may be removed */
    bool is_lost;
    struct database_blank blank; /* template for databases written by children */
};

void incremental_import_forget(struct incremental_import *incremental);

int incremental_import_open_logs(struct incremental_import *incremental, struct error *err);

/* Creates statistics with capacity for the open log and more, and at least for `least`. */
int incremental_import_make_statistics(struct incremental_import *incremental,
                                       const struct statistics_room *least, struct error *err);

/* Allocates the sample positions of each log. */
int incremental_import_reserve_samples(struct incremental_import *incremental, struct error *err);

/* Time of `cut` in the run; 0: it names none. */
uint64_t incremental_import_cut_ns(const struct incremental_import *incremental);

/* Saves the clocks of the open logs. */
int incremental_import_take_pasts(struct incremental_import *incremental, struct error *err);

#endif
