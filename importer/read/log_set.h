/* SPDX-License-Identifier: MIT */
/*
 * log_set: the logs of one recording, read as one: which files belong together, what they define,
 * where their segments are, and what of them is damaged.
 *
 * Model:   the caller names one or several logs. Beside a packed file its live pool (PATH.live) is
 *          used too, and the other way round. Logs of children are found through LOG_DEF_CHILD,
 *          beside the parent's log first, then where the collector wrote them. Opening reads every
 *          definition and an index of the segments; events are read by merge.h, segment by segment.
 * Invariants
 *   LS-1 A log enters once, by run_id, however often it was named or found.
 *   LS-2 A (run_id, sequence) is read once: the packed frame if its checksum holds, else the raw
 *        segment (LF-2).
 *   LS-3 Memory: the definitions, and about 64 bytes per segment.
 *   LS-4 What was listed is read, though its recorder packs and removes the file meanwhile: pools stay open, the first 512
 *        of many logs; a file that is gone before it is opened makes the folder be looked through again.
 * Failure: a named file that is no log of ours is an error that says what it is. A child's log that
 *          is missing or unreadable, and damage inside a log, is a line of the damage report.
 */
#ifndef MTRACE_IMPORTER_LOG_SET_H
#define MTRACE_IMPORTER_LOG_SET_H

#include "importer/log/clock_map.h"
#include "importer/log/log_damage.h"
#include "importer/model/definitions.h"
#include "importer/read/stream_state.h"
#include "lib/base/error.h"

struct log_set;

/* What is known of the clock of a log whose segments may be gone. */
struct log_set_past {
    uint64_t run_id;
    struct clock_past clock;
    bool has_time_shift; /* as log_input.h; where no segment is left that says it */
    uint32_t time_shift;
    uint32_t first_generation; /* all before it are gone, and in the state; 0: none is */
    uint64_t n_losses,
        lost_bytes; /* of those: places where events were missing or could not be read, and bytes of them */
};

struct log_set_options {
    const struct log_set_past
        *pasts; /* NULL: none; read when it is opened. Their logs come first, in their order */
    size_t n_pasts;
    bool only; /* only the logs named, not those of their children */
    bool
        keeps_later; /* processes that began behind a cut stay among the definitions, and are left out of what is told */
    uint64_t until_ns; /* of log_set_cut; 0: not cut */
};

/* Reads what `paths` name. Paths and options are copied. The caller frees with log_set_close. */
int log_set_open(const char *const *paths, size_t n_paths, const struct log_set_options *options,
                 struct log_set **ret, struct error *err);

/* NULL is fine. Event streams of the set must be closed before. */
void log_set_close(struct log_set *set);

/* From now on the set is that of a recording that was cut at this time (definitions_cut.h). until_marker: of the events of that
 * time only those up to the first marker of this name, which is of that time; NULL: all. Before any stream is opened that is read to its end. */
int log_set_cut(struct log_set *set, uint64_t until_ns, const char *until_marker,
                struct error *err);

/* The log of this run alone is told: all other processes are left out, and so are groups that its process does not have. The others have the ids by which it
 * knows them (GM-1). After numbers were given (stable_ids_take). False: there is none. */
bool log_set_emit_only(struct log_set *set, uint64_t run_id);

/* Its process; 0: there is none. */
uint32_t log_set_find_process(const struct log_set *set, uint64_t run_id);

/* After a cut: is there anything behind it, or may there be? */
bool log_set_has_later(const struct log_set *set);

/* Streams of the set that are opened from now on read and merge in the thread of who uses them: that takes longer where processors are idle, but
 * none of their time is spent on handing over. */
void log_set_be_frugal(struct log_set *set);

/* Owned by the set. */
const struct definitions *log_set_definitions(const struct log_set *set);

/* Owned by the set; complete only after an event stream was read to its end, because segments are
 * decoded there. Reading the stream again adds nothing. */
const struct log_damage_report *log_set_damage(const struct log_set *set);

/* Events that the segment index announces, for progress and plans; exact for packed segments, an
 * estimate for raw ones. */
uint64_t log_set_estimated_events(const struct log_set *set);

/* Leaves out the segments that were read to their end, and will not grow. */
void log_set_skip_done(struct log_set *set, const struct stream_state *state);

/* Right after log_set_open, before a cut and before any is left out, since what is not listed is taken for gone: of segments that were read to their end
 * and are not there any more nothing is known but how many they were. One that is forgotten in error is read once more. ERROR_NOMEM or 0. */
int log_set_forget_gone(const struct log_set *set, struct stream_state *state);

/* Up to when, in fixed point as clock_map.h has it, all events are in the log and their times are for good, as far as one
 * can tell: somebody may be held up between looking at the clock and writing. UINT64_MAX: nobody writes any more. time_limit_ns: no log is waited for
 * that is so far behind the furthest one, or behind the time when the set was opened, as one is that has nothing to write; 0: any may hold up the others. */
uint64_t log_set_mark(const struct log_set *set, uint64_t time_limit_ns);

/* A time behind `after`, both as log_set_mark: of the segments that begin behind `after` those that hold anything up to it have n_bytes, and one segment
 * more at most. UINT64_MAX: all of them have no more. */
uint64_t log_set_piece_end(const struct log_set *set, uint64_t after, uint64_t n_bytes);

/* The same of a set with one process, where all that was stamped before `ticks` is known to be in the log already. The ticks that it is made of
 * are told, too. */
uint64_t log_set_mark_before(const struct log_set *set, uint64_t ticks, uint64_t *ret_ticks);

/* Did anybody still write to one of the logs when the set was opened? */
bool log_set_is_growing(const struct log_set *set);

/* Does anybody of those do so now? */
bool log_set_still_grows(const struct log_set *set);

/* Does a thread of a program ask about one of them (log_input_is_asked)? */
bool log_set_is_asked(const struct log_set *set);

/* Of all (log_input_holds_files). */
bool log_set_holds_files(const struct log_set *set);

/* What is listed can be read from now on though others remove files of it that are not open (log_grown.h). ERROR_IO, ERROR_NOMEM or 0. */
int log_set_hold_pools(struct log_set *set, struct error *err);

/* Segments of events. */
uint64_t log_set_n_segments(const struct log_set *set);

#endif
