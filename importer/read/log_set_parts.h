/* SPDX-License-Identifier: MIT */
/*
 * log_set_parts: struct log_set, for the merge that reads its events.
 *
 * `order` lists every EVENTS and SIDE segment once, by the first time it can contain.
 * Invariants
 *   LP-1 No event of order[i] is before order[i].first_time, except in damaged logs.
 *
 * Threads: as in log_set.h.
 */
#ifndef MTRACE_IMPORTER_LOG_SET_PARTS_H
#define MTRACE_IMPORTER_LOG_SET_PARTS_H

#include "importer/log/log_file.h"
#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "importer/read/heaptrack_reader.h"

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
    size_t n_open_pools; /* pools that stay open */
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
    size_t n_segments;    /* including skipped ones */
    uint64_t n_events;    /* as log_set_estimated_events */
    uint64_t total_bytes; /* payloads of `order` */
    struct pack *pack;    /* for reading in the caller's thread */
    /* source of events and samples instead of segments; or NULL */
    struct heaptrack_reader *heaptrack;
};

/* True if a time is after the requested end. */
static inline bool log_set_is_behind(const struct log_set *set, uint64_t time_ns)
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
