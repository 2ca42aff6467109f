/* SPDX-License-Identifier: MIT */
/*
 * log_set: the logs of one recording: which files belong together, their definitions, segments and
 * damage.
 *
 * The caller names one or more logs. The live log (PATH.live) of a packed file is used, too, and
 * the other way round. Logs of children and of images after an exec are found through
 * LOG_DEF_CHILD, first beside the parent's log, then where the collector wrote them, or by file
 * name and header. Opening reads all definitions and an index of the segments. event_stream.h reads
 * the events, segment by segment: `order` lists every EVENTS and FALLBACK segment once, by the
 * first time it can contain.
 *
 * Invariants
 *   LS-1 A log is in the set once, by run_id, however often it was named or found.
 *   LS-2 A (run_id, sequence) is read once: the packed frame if its checksum is valid, else the raw
 *        segment (LF-2).
 *   LS-3 Memory: the definitions, and about 64 bytes per segment.
 *   LS-4 A listed segment stays readable when its recorder packs and removes the file. Up to 512
 *        live logs stay open; if a file is removed before it is opened, the folder is searched
 *        again.
 *   LP-1 No event of order[i] is before order[i].first_time, except in damaged logs.
 *
 * Errors: a named file that is not a log; the message says what it is. A missing or unreadable log
 * of a child, and damage inside a log, are entries of the damage report.
 */
#ifndef MTRACE_IMPORTER_LOG_SET_H
#define MTRACE_IMPORTER_LOG_SET_H

#include "importer/log/clock_map.h"
#include "importer/log/log_file.h"
#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "importer/read/heaptrack_reader.h"
#include "importer/read/stream_state.h"
#include "lib/base/error.h"

struct log_set;

/* Saved knowledge about a log whose segments may have been removed. */
struct log_set_past {
    uint64_t run_id;
    struct clock_past clock;
    bool has_time_shift; /* as log_input.h, in case no segment is left that shows it */
    uint32_t time_shift;
    /* all rotated logs before it are removed and in the checkpoint; 0: none */
    uint32_t first_rotated_number;
    uint64_t n_losses,
        lost_bytes; /* of the removed ones: unreadable or missing places, and their bytes */
};

struct log_set_options {
    const struct log_set_past
        *pasts; /* NULL: none. Used while opening. Their logs come first, in this order */
    size_t n_pasts;
    bool only; /* only the named logs, not those of their children */
    /* processes that began after a cut stay in the definitions, with is_left_out */
    bool keeps_later;
    uint64_t until_ns; /* for log_set_cut; 0: no cut */
};

/* Opens the logs that `paths` name. Paths and options are copied. The caller frees with
 * log_set_close. */
int log_set_open(const char *const *paths, size_t n_paths, const struct log_set_options *options,
                 struct log_set **ret, struct error *err);

/* Accepts NULL. Close event streams of the set first. */
void log_set_close(struct log_set *set);

/* Limits the set to a recording that was cut at this time (definitions_cut). until_marker: of the
 * events at exactly that time, keep those up to the first marker of this name, which has that time;
 * NULL: keep all. Call it before a stream is read to its end. */
int log_set_cut(struct log_set *set, uint64_t until_ns, const char *until_marker,
                struct error *err);

/* Reports this run only: leaves out all other processes, and groups that its process does not have.
 * The other groups get the ids that the process knows (GM-1). Call it after stable_ids_take. False:
 * no such run. */
bool log_set_keep_only_run(struct log_set *set, uint64_t run_id);

/* The process id of the run; 0: not in the set. */
uint32_t log_set_find_process(const struct log_set *set, uint64_t run_id);

/* After a cut: true if the recording has or may have anything later. */
bool log_set_has_later(const struct log_set *set);

/* Streams opened from now on read and merge in the caller's thread. This takes longer if processors
 * are idle, but saves the cost of handing over between threads. */
void log_set_be_frugal(struct log_set *set);

/* Owned by the set. */
const struct definitions *log_set_definitions(const struct log_set *set);

/* Owned by the set. Complete only after an event stream was read to its end, because segments are
 * decoded there. Reading a stream again adds nothing. */
const struct log_damage_report *log_set_damage(const struct log_set *set);

/* Number of events according to the segment index, for progress and planning: exact for packed
 * segments, an estimate for raw ones. */
uint64_t log_set_estimated_events(const struct log_set *set);

/* Removes segments from the order that were read to their end and will not grow. */
void log_set_skip_done(struct log_set *set, const struct stream_state *state);

/* Forgets positions of segments that were read to their end and are no longer listed; only their
 * number is kept. Call it directly after log_set_open, since every unlisted segment counts as
 * removed. A segment forgotten in error is read again. ERROR_NOMEM or 0. */
int log_set_forget_removed(const struct log_set *set, struct stream_state *state);

/*
 * Watermark, in fixed point (clock_map.h): all events up to it are in the log with final times,
 * unless a thread is delayed between reading the clock and writing. UINT64_MAX: no log is still
 * written. max_lag_ns: a log that lags more than this behind the furthest one, or behind the time
 * of opening, is not waited for, because it may have nothing to write; 0: every log is waited for.
 */
uint64_t log_set_watermark(const struct log_set *set, uint64_t max_lag_ns);

/* True if any log was still being written when the set was opened. */
bool log_set_is_growing(const struct log_set *set);

/* True if any of those is still being written now. */
bool log_set_still_grows(const struct log_set *set);

/* Number of event segments. */
uint64_t log_set_n_segments(const struct log_set *set);

/* ---- members (log_set_members.c) ---- */

/* Adds a log and takes ownership. If its run is in the set already (LS-1), or without memory
 * (ERROR_NOMEM), the log is closed. */
int log_set_add_input(struct log_set *set, struct log_input *input, struct error *err);

/* Adds the logs of these paths and, unless `only`, all that belong to them. Returns 0 or the error
 * of log_input_open. */
int log_set_find_members(struct log_set *set, const char *const *paths, size_t n_paths, bool only,
                         struct error *err);

/* ---- for the readers of its events ---- */

/* A realloc record is stored where its call ended; the segment may have begun during the call. LF-8
 * limits this to LOG_EARLY_TICKS, which is shorter than this at 66 million ticks per second or
 * more. */
#define LOG_SET_SLACK_NS 1000000ull

struct segment_place {
    uint64_t first_time; /* ns since time 0 << CLOCK_MAP_FRACTION_BITS */
    uint32_t input;
    uint32_t ref; /* index in its segments */
};

struct log_set {
    struct text_arena arena;
    struct log_input **inputs; /* by start of the process; its id is the index + 1 */
    size_t n_inputs, inputs_capacity;
    size_t n_open_pools; /* live logs that stay open */
    struct definitions definitions;
    struct log_damage_report damage;
    struct log_damage_report opening_damage; /* damage before any event was read */
    bool is_growing;
    bool is_frugal;          /* as log_set_be_frugal */
    bool keeps_later;        /* as in log_set_options */
    bool is_damage_complete; /* a stream was read to its end */
    char *until_marker;      /* of log_set_cut; owned */
    uint64_t until_ns;
    bool has_later;     /* as log_set_has_later */
    uint64_t origin_ns; /* CLOCK_MONOTONIC at time 0 */
    uint64_t opened_ns; /* CLOCK_MONOTONIC before anything was read */
    struct segment_place *order;
    size_t n_order, order_capacity;
    size_t n_segments; /* including skipped ones */
    uint64_t n_events; /* as log_set_estimated_events */
    struct pack *pack; /* for reading in the caller's thread */
    /* source of events and samples instead of segments; or NULL */
    struct heaptrack_reader *heaptrack;
};

/* True if a time is after the requested end. */
static inline bool log_set_is_after_end(const struct log_set *set, uint64_t time_ns)
{
    return set->until_ns != 0 && time_ns > set->until_ns;
}

/* Converts ticks of a log to time since time 0, with CLOCK_MAP_FRACTION_BITS of a nanosecond. */
static inline uint64_t log_set_time(const struct log_set *set, const struct log_input *input,
                                    struct clock_cursor *cursor, uint64_t ticks)
{
    uint64_t origin = set->origin_ns << CLOCK_MAP_FRACTION_BITS;
    uint64_t time = clock_map_fixed_ns(&input->clock, cursor, ticks);
    return time > origin ? time - origin : 0;
}

#endif
