/* SPDX-License-Identifier: MIT */
/*
 * row_sink: receives rows as soon as they are final.
 *
 * Functions are called with the context, in order of time within a process. A result other than 0
 * ends the call of statistics.h that led to it.
 */
#ifndef MTRACE_IMPORTER_ROW_SINK_H
#define MTRACE_IMPORTER_ROW_SINK_H

#include "importer/model/event.h"
#include "importer/totals/mappings.h"
#include "importer/totals/memory_samples.h"
#include "importer/totals/snapshots.h"
#include "lib/base/error.h"

/* Receives the events that are no blocks: FAILURE, MALLOPT, MARKER, END, UNMATCHED_FREE, … */
typedef int statistics_event_fn(void *context, const struct event *event, struct error *err);

/* A block that moves to another group. Ids of groups may be unknown until the end of the log
 * (definitions_group_id). */
struct statistics_move {
    uint64_t allocation_id, at_ns;
    uint32_t from_group, group;
};

typedef int statistics_move_fn(void *context, const struct statistics_move *move,
                               struct error *err);

struct row_sink {
    void *context;
    statistics_event_fn *event;
    mappings_ended_fn *mapping;
    memory_samples_fn *memory;
    snapshots_fn *snapshot;
    statistics_move_fn *move; /* NULL: these rows are not needed */
    bool takes_any_order;     /* stacks of a snapshot need not be sorted */
};

#endif
