/* SPDX-License-Identifier: MIT */
/*
 * standing_import: the first pass of an import that stays in memory while the log grows, so that a database can be
 * written of it at any time.
 *
 * Model:   incremental_import_advance opens the log as it is now and takes in the events up to a mark: those that
 *          nothing can come before any more (log_set_mark). incremental_import_write reads what lies behind the mark, too,
 *          and finishes: in a forked child, which has all as it was at the fork and ends without a trace, or, for the last
 *          time, here. So a database holds all that the log holds, and what is kept is only what is certain.
 *          When what was kept turns out not to be the beginning of what the log is now (a thread that was held up for
 *          longer than the mark allows, be it between a look at the clocks and writing it down, a process that is found late, a log that lost something), all is
 *          forgotten and read once from the beginning.
 *          A cut is a database of what happened up to an instant that the options of it name (import_options: until). It is
 *          made from what is kept if that ends before the instant, and is read from the beginning if not: so
 *          whoever will ask for cuts advances to a little before now only. One may tell of one process alone (run_id): its marker
 *          is the instant, and tables have what is its.
 * Invariants
 *   KI-1 A database is that of an import of the log as it was at the last advance, whatever was kept.
 *   KI-2 The time of an advance grows with what is new, the definitions, headers of frames and 64 bytes per segment;
 *        that of a database with the live blocks, those of the peak, the stacks and what lies behind the mark. What is kept
 *        is what a single import has in memory, and the numbers (NU-3), blocks of the peak and open segments.
 *        Without `slim` the time of a database grows with the rows.
 *   KI-3 A cut is what import_run makes of the log with these options, if no other marker has the name of that of the instant.
 *   KI-4 What was saved, loaded, and goes on makes the database of what was never saved, though no segment is there any more that
 *        was done by then; but for times where a process that wrote little was not waited for (CM-5), and what comes late (SX-4). It never begins anew: where it would have to, an error says why.
 * Threads: one caller; none of the importer's runs between the calls.
 * Failure: as import.h. What was kept is forgotten, and read again with the next advance. So it is, too, after a child was killed,
 *          which is what happens when memory ends, or could not be started: the database is then written here.
 */
#ifndef MTRACE_IMPORTER_INCREMENTAL_IMPORT_H
#define MTRACE_IMPORTER_INCREMENTAL_IMPORT_H

#include "importer/cli/import_options.h"
#include "importer/log/checkpoint_io.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* Where events are removed that were taken in, a process that writes nothing may not hold up all others: what is so old is certain. */
#define SOLE_TIME_LIMIT_NS UINT64_C(2000000000)

struct statistics_limits;
struct log_set;
struct incremental_import;

/* logs, target and `only` of the options hold for all databases; they must live as long. Close with
 * incremental_import_close. */
int incremental_import_open(const struct import_options *options, struct progress *progress,
                            struct incremental_import **ret, struct error *err);

/* Before the first advance: nothing is put aside on the disk for rows. Cuts with rows are then read from the beginning, and
 * other databases must be slim. */
void incremental_import_leave_rows_out(struct incremental_import *incremental);

/* Before the first advance: segments that were taken in may go from the log (incremental_import_is_done), for what is kept of them is saved.
 * Nothing begins anew any more: what would have to is a failure. limits: of what would grow for as long as the program runs; NULL: those
 * of a bounded log. */
void incremental_import_be_sole(struct incremental_import *incremental,
                                const struct statistics_limits *limits);

/* NULL is fine. */
void incremental_import_close(struct incremental_import *incremental);

/* Takes nothing in that is later than until_ns of CLOCK_MONOTONIC; UINT64_MAX: all that is certain. */
int incremental_import_advance(struct incremental_import *incremental, uint64_t until_ns,
                               struct error *err);

/* From now on an advance takes in so much of what is new, and for each thread one segment more: it ends sooner than it would. 0: all, as at first. */
void incremental_import_take_pieces(struct incremental_import *incremental, uint64_t n_bytes);

/* Did the last advance end sooner? Another one finds something. */
bool incremental_import_is_behind(const struct incremental_import *incremental);

/* After an advance. is_last: here, and nothing but close may follow. ret_result is meaningful on success only. */
int incremental_import_write(struct incremental_import *incremental,
                             const struct import_options *options, bool is_last,
                             struct import_result *ret_result, struct error *err);

/* At any time: what is to be known of the log for a database as of the instant that `options` name, which it must hold already (KI-3). */
int incremental_import_open_cut(struct incremental_import *incremental,
                                const struct import_options *options, struct error *err);

/* Right behind that, whose options are the same but for what the database is to have. */
int incremental_import_cut(struct incremental_import *incremental,
                           const struct import_options *options, struct import_result *ret_result,
                           struct error *err);

/* Nothing is kept any more of what cannot be read anew: whoever begins with the last state that was saved goes on (KI-4). */
bool incremental_import_is_lost(const struct incremental_import *incremental);

/* Does anybody who wrote to the logs at the last advance still do? A look that costs little. Before the first advance: no. */
bool incremental_import_is_growing(const struct incremental_import *incremental);

/* What is kept, as it is at the mark, in chunks (checkpoint_io.h): here, or in a child. Where rows are left out, and after an
 * advance that took something in. */
int incremental_import_save(struct incremental_import *incremental, const struct state_sink *sink,
                            struct error *err);

/* In place of the first advance, where rows are left out: what is kept is what was saved of this recording (KI-4), with
 * the limits it was saved with; it is sole from then on. Its logs are opened meanwhile. */
int incremental_import_load(struct incremental_import *incremental,
                            const struct state_source *source, struct error *err);

/* The next advance reads the logs as they are open, and not what came since. Behind incremental_import_load. */
void incremental_import_keep_logs(struct incremental_import *incremental);

/* Before it is looked whether the state is still current: what is listed of pools now can be read later (log_set_hold_pools). */
int incremental_import_hold_logs(struct incremental_import *incremental, struct error *err);

/* Was all taken in that the segment holds, and will it not grow? What is kept does not need it any more then. */
bool incremental_import_is_done(const struct incremental_import *incremental, uint64_t run_id,
                                uint64_t sequence);

/* Where segments are removed: of the log of this place all generations before `first` are done, and will be. What was lost of them is noted. The first
 * one that is left, as of the last time. */
void incremental_import_note_gone(struct incremental_import *incremental, size_t input,
                                  uint32_t first);
uint32_t incremental_import_first_generation(const struct incremental_import *incremental,
                                             size_t input);

/* Up to when samples of the memory were taken in, of the log of this place; CLOCK_MONOTONIC. */
uint64_t incremental_import_sample_ns(const struct incremental_import *incremental, size_t input);

/* As of the last advance, with all that was listed then; NULL before. */
const struct log_set *incremental_import_logs(const struct incremental_import *incremental);

/* How often all was read from the beginning, the first time included. */
unsigned incremental_import_n_beginnings(const struct incremental_import *incremental);

/* What the last advance took of the processors before it read an event: to open the logs, and to go on with what is kept. That grows with the logs. */
uint64_t incremental_import_opening_ns(const struct incremental_import *incremental);

/* Events that are kept. */
uint64_t incremental_import_n_kept(const struct incremental_import *incremental);

#endif
