/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_reader: reads a recording of heaptrack as definitions and events like those of mtrace's
 * logs.
 *
 * heaptrack writes text lines, raw (by its collector) or interpreted (with symbols), in format
 * versions 0 to 3, plain or compressed with gzip or zstd. Opening reads the file once for its
 * definitions and clock; a second pass reads the events.
 *
 * Raw recordings, and interpreted ones of version 0, identify blocks by address. The others contain
 * only size and stack of a freed block: the newest such block is taken.
 *
 * Times have a resolution of 1 ms: events between two clock lines are spread evenly, at least 1 ns
 * apart.
 *
 * heaptrack keeps the innermost 62 frames without saying so: stacks of that length count as
 * truncated unless a shorter stack begins at the same frame.
 *
 * Invariants
 *   HT-1 The events are as in event.h, but only ALLOC and FREE, of process 1 and its unknown
 *        thread, with EVENT_CALL_UNKNOWN and without usable size.
 *   HT-2 Both passes accept the same lines, so the definitions contain everything that events refer
 *        to.
 *   HT-3 Memory: the definitions, 8 bytes per trace, 16 per clock line, 40 per memory sample,
 *        HEAPTRACK_LINE_BYTES, and during the second pass 8 bytes per live block without an
 *        address.
 *
 * Threads: one at a time.
 * Errors: memory, I/O, a newer format. Invalid lines are skipped, and the end of a cut file is
 * lost; each is one entry of the damage report.
 */
#ifndef MTRACE_IMPORTER_HEAPTRACK_READER_H
#define MTRACE_IMPORTER_HEAPTRACK_READER_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "importer/model/event.h"
#include "importer/read/heaptrack_line.h"
#include "importer/read/heaptrack_text.h"

struct heaptrack_reader;
struct heaptrack_events;

/* True if the file begins like a recording of heaptrack; false also if it is unreadable. */
bool heaptrack_reader_recognizes(const char *path);

/* True if the file is compressed and not one line can be decoded, so that its content is
 * unknown. */
bool heaptrack_reader_is_stump(const char *path);

/*
 * First pass. *ret_input is a log with names and no segments, for definitions_build; the caller
 * closes it. Strings stay in the arena. Close with heaptrack_reader_close.
 */
int heaptrack_reader_open(const char *path, struct text_arena *arena,
                          struct log_damage_report *damage, struct heaptrack_reader **ret,
                          struct log_input **ret_input, struct error *err);

/* Accepts NULL. Close its event streams first. */
void heaptrack_reader_close(struct heaptrack_reader *reader);

/* After definitions_build: takes the ids of the stacks, and adds the names that the recording
 * contains to the definitions. */
int heaptrack_reader_finish(struct heaptrack_reader *reader, struct definitions *definitions,
                            struct error *err);

uint64_t heaptrack_reader_n_events(const struct heaptrack_reader *reader);

/* The memory samples, in order; owned by the reader. Only resident bytes are known, the others are
 * UINT64_MAX. */
const struct log_sample *heaptrack_reader_samples(const struct heaptrack_reader *reader,
                                                  size_t *ret_n);

/* Second pass. May be repeated, with the same result. */
int heaptrack_events_open(struct heaptrack_reader *reader, struct heaptrack_events **ret,
                          struct error *err);
void heaptrack_events_close(struct heaptrack_events *events);

/* Returns 1 and an event, 0 at the end, negative on failure. */
int heaptrack_events_next(struct heaptrack_events *events, struct event *ret, struct error *err);

/* ---- for heaptrack_events.c and heaptrack_modules.c ---- */

/* A `c` line. */
struct heaptrack_instant {
    uint64_t ns;
    uint64_t n_events; /* before it */
};

struct heaptrack_ip {
    uint64_t address;
    uint32_t module; /* index of its module_note, 0: none */
    uint32_t first_level, n_levels;
};

/* Numbers of strings; 0: unknown. */
struct heaptrack_level {
    uint32_t function, source, line;
};

struct heaptrack_info {
    uint64_t size;
    uint32_t trace;
};

struct heaptrack_trace {
    uint32_t root;    /* its outermost trace */
    uint8_t n_frames; /* up to 255 */
    bool has_short;   /* root: it has a stack that heaptrack did not cut, so it cut none here */
    bool has_long;    /* root: it has a stack of the length at which heaptrack cuts */
};

/* Results of the first pass, used by the second. */
struct heaptrack_reader {
    const char *path;
    struct text_arena *arena;
    /* owned by the set; its names have the stack ids after definitions_build */
    struct log_input *input;
    struct heaptrack_grammar grammar;
    char *arguments;
    size_t n_arguments_bytes, arguments_capacity;
    const char **strings; /* 1-based, as the next tables except infos, instants and samples */
    uint32_t *string_modules;
    struct heaptrack_ip *ips;
    struct heaptrack_level *levels;
    struct heaptrack_info *infos;
    struct heaptrack_trace *traces;
    const char **suppressions;
    struct heaptrack_instant *instants;
    struct log_sample *samples;
    size_t strings_capacity, modules_capacity, ips_capacity, levels_capacity, infos_capacity;
    size_t instants_capacity, samples_capacity, traces_capacity, suppressions_capacity;
    size_t n_levels, n_instants, n_samples, n_suppressions;
    uint32_t *current_modules; /* raw: modules mapped now, in list order */
    uint32_t *former_modules;
    size_t n_current, n_former, current_capacity, former_capacity;
    struct heaptrack_range *ranges; /* mapped segments; sorted by address when complete */
    size_t n_ranges, ranges_capacity;
    bool is_listing_modules;
    uint64_t page_bytes;
    uint64_t n_events;
    uint64_t n_bad, first_bad_line, first_bad_offset;
    struct definitions_level *named; /* given to the definitions */
};

struct heaptrack_range {
    uint64_t start, end;
    uint32_t module;
};

/* Handles a line of the module list. ERROR_NOMEM or 0. */
int heaptrack_modules_line(struct heaptrack_reader *reader, const struct heaptrack_line *line);

/* After the last line of a list: modules that are no longer in it are unloaded. */
void heaptrack_modules_settle(struct heaptrack_reader *reader);

/* The module at an address, 0: none. */
uint32_t heaptrack_modules_find(const struct heaptrack_reader *reader, uint64_t address);

#endif
