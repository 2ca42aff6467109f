/* SPDX-License-Identifier: MIT */
/*
 * incremental_import: an import that stays in memory while the log grows, so that a database of it
 * can be written at any time.
 *
 * incremental_import_advance opens the log as it is now and imports the events up to the watermark
 * (log_set_watermark), before which no new event can come. incremental_import_write also reads the
 * events after it and writes the database. It does so in a forked child, whose changes are lost
 * when it exits, or, the last time, in this process. So a database has everything that the log has,
 * and only what is certain is kept.
 *
 * If the kept part turns out not to be the beginning of the current log, it is discarded and
 * everything is read once from the start. Reasons are a thread delayed for longer than the
 * watermark allows (also between reading the clocks and writing the pair), a process found late, or
 * a log that lost data.
 *
 * A cut is a database as of a time that its options name (until_*). It is made from the kept part
 * if that ends before the time, else from the start. So a caller that expects cuts advances only to
 * a little before now. A cut may report a single process (run_id): its marker is the time.
 *
 * Invariants
 *   KI-1 A database equals an import of the log as it was at the last advance, whatever was kept.
 *   KI-2 The time of an advance grows with new events, definitions, frame headers and 64 bytes per
 *        segment. The time of a database grows with live blocks, peak blocks, stacks and events
 *        after the watermark; without `slim` also with rows. Memory is that of one import plus
 *        stable ids (NU-3), peak blocks and open segments.
 *   KI-3 A cut equals import_run with these options, if the marker's name is unique.
 *   KI-4 An import that was saved, loaded and continued makes the same database as one that was
 *        not, although segments that were done are removed. Exceptions are times where a slow
 *        writer was not waited for (CM-5), and late events (SX-4). It never starts again: where it
 *        would have to, it fails and says why.
 *
 * Threads: one caller; no thread of the importer runs between calls.
 * Errors: as in import.h. The kept part is then discarded, and the next advance reads the log
 * again. The same happens if a child was killed, as for want of memory, or could not be started:
 * then this process writes the database.
 */
#ifndef MTRACE_IMPORTER_INCREMENTAL_IMPORT_H
#define MTRACE_IMPORTER_INCREMENTAL_IMPORT_H

#include "importer/cli/import.h"
#include "importer/log/checkpoint_io.h"
#include "importer/model/stable_ids.h"
#include "importer/read/log_set.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* If imported events are removed from the log, a process that writes nothing must not hold up the
 * others: events this old are certain. */
#define SOLE_TIME_LIMIT_NS UINT64_C(2000000000)

struct incremental_import;

/* logs, target and `only` of the options apply to all databases; they must live as long. Close with
 * incremental_import_close. */
int incremental_import_open(const struct import_options *options, struct progress *progress,
                            struct incremental_import **ret, struct error *err);

/* Before the first advance: spools no rows on disk. Cuts with rows are then read from the start,
 * and other databases must be slim. */
void incremental_import_leave_rows_out(struct incremental_import *incremental);

/* Before the first advance: imported segments may be removed from the log
 * (incremental_import_is_done), since their results are saved. An import that would have to start
 * again fails instead. limits: of data that would grow as long as the program runs; NULL: those of
 * a bounded log. */
void incremental_import_be_sole(struct incremental_import *incremental,
                                const struct statistics_limits *limits);

/* Accepts NULL. */
void incremental_import_close(struct incremental_import *incremental);

/* Imports events up to until_ns of CLOCK_MONOTONIC; UINT64_MAX: all that are certain. */
int incremental_import_advance(struct incremental_import *incremental, uint64_t until_ns,
                               struct error *err);

/* From now on an advance imports at most n_bytes of new events, plus one segment per thread. 0:
 * all, the default. */
void incremental_import_take_pieces(struct incremental_import *incremental, uint64_t n_bytes);

/* True if the last advance reached that limit, so that another one finds more. */
bool incremental_import_is_behind(const struct incremental_import *incremental);

/* After an advance: writes a database. is_last: in this process; afterwards only close may be
 * called. ret_result is valid on success only. */
int incremental_import_write(struct incremental_import *incremental,
                             const struct import_options *options, bool is_last,
                             struct import_result *ret_result, struct error *err);

/* At any time: opens the log for a cut as of the time that `options` name. The log must contain
 * everything up to it (KI-3). */
int incremental_import_open_cut(struct incremental_import *incremental,
                                const struct import_options *options, struct error *err);

/* Directly after it, with the same options except for the extent: writes the database. */
int incremental_import_cut(struct incremental_import *incremental,
                           const struct import_options *options, struct import_result *ret_result,
                           struct error *err);

/* True if the kept part was lost and cannot be read again. A process that starts with the last
 * checkpoint can continue (KI-4). */
bool incremental_import_is_lost(const struct incremental_import *incremental);

/* Cheap check: is any log still being written that was at the last advance? Before the first
 * advance: false. */
bool incremental_import_is_growing(const struct incremental_import *incremental);

/* Saves the kept part, as of the mark, in chunks (checkpoint_io.h), in this process or in a child.
 * Only without rows, and after an advance that imported something. */
int incremental_import_save(struct incremental_import *incremental,
                            const struct checkpoint_io_sink *sink, struct error *err);

/* Instead of the first advance, without rows: loads a saved state of this recording (KI-4) with its
 * limits, and opens its logs. The import is sole from then on. */
int incremental_import_load(struct incremental_import *incremental,
                            const struct checkpoint_io_source *source, struct error *err);

/* After incremental_import_load: the next advance reads the logs that are open and does not look
 * for newer data. */
void incremental_import_keep_logs(struct incremental_import *incremental);

/* Before checking that the checkpoint is still current: keeps listed segments of pools readable
 * (log_set_hold_pools). */
int incremental_import_hold_logs(struct incremental_import *incremental, struct error *err);

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

/* How often everything was read from the start, including the first time. */
unsigned incremental_import_n_beginnings(const struct incremental_import *incremental);

/* Processor time of the last advance before it read an event: opening the logs and continuing. It
 * grows with the logs. */
uint64_t incremental_import_opening_ns(const struct incremental_import *incremental);

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
    struct chunk_cache cache; /* of the last saved state */
    size_t samples_capacity;
    struct kept_clock *clocks; /* by process - 1 */
    size_t n_clocks, clocks_capacity;
    struct log_set_past *pasts; /* by process - 1; only if is_sole */
    size_t n_pasts, pasts_capacity;
    /* why the kept part is no longer the beginning of the log; NULL: it is */
    const char *why;
    struct statistics_limits limits; /* all 0 unless is_sole */
    bool keeps_logs;                 /* the next advance does not open them again */
    bool is_sole;       /* imported segments may be removed: no new start is possible */
    uint64_t max_bytes; /* limit of an advance; 0: none */
    bool is_behind;     /* the last advance reached it */
    bool has_no_rows;   /* no rows can be written of the kept part */
    bool is_unfit;      /* nothing of this recording can be kept */
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

/* Creates statistics with capacity for the open log and more, and at least for `least`. */
int incremental_import_make_statistics(struct incremental_import *incremental,
                                       const struct statistics_room *least, struct error *err);

/* Moves the statistics to new ones with capacity for the threads, stacks and groups that the open
 * log has now. */
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
