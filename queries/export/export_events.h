/* SPDX-License-Identifier: MIT */
/*
 * export_events: allocations and frees of the blocks that pass the filters, in time order.
 *
 * Rows come in the order of allocation; pending frees wait in a priority queue. At equal times
 * frees come first, because realloc frees the old block and allocates the new one at the same time.
 * Blocks lost in an exec are freed at the end of the process.
 *
 * Invariants
 *   EV-1 Each allocation is returned once, and its free once if the block was freed.
 *   EV-2 Times never decrease.
 *   EV-3 Memory grows with the number of blocks that are live at the same time.
 */
#ifndef MTRACE_QUERIES_EXPORT_EVENTS_H
#define MTRACE_QUERIES_EXPORT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct export_job;
struct sqlite3_stmt;

struct export_event {
    int64_t at_ns;
    int64_t alloc_ns; /* allocation time, also in the event of the free */
    int64_t size_bytes;
    int64_t slack_bytes; /* 0: unknown */
    int64_t backtrace_id;
    bool is_allocation;
};

struct export_free_event {
    int64_t free_ns;
    struct export_event allocation;
};

struct export_events {
    const struct export_job *job;
    struct sqlite3_stmt *stmt;
    struct export_free_event *queue; /* a binary heap, earliest first */
    size_t n, capacity;
    struct export_free_event
        next; /* the allocation that was read ahead; free_ns < 0: never freed */
    bool has_next;
};

/* The selected blocks that are live when their process has most live bytes. All formats use this as
 * their peak, not the highest sum of the selection. */
struct export_peak {
    int64_t bytes, blocks;
    int64_t at_ns;
    int64_t event; /* number of the last event before it, from 1; 0: none */
    int64_t n_events;
};

/* Call export_events_close also after a failure. With --show-sql the statement is printed and there
 * are no events. */
int export_events_open(struct export_events *events, const struct export_job *job,
                       struct error *err);
void export_events_close(struct export_events *events);

/* 1 and an event, 0 at the end, or an error. */
int export_events_next(struct export_events *events, struct export_event *ret_event,
                       struct error *err);

/* Reads all events once. */
int export_events_find_peak(const struct export_job *job, struct export_peak *ret_peak,
                            struct error *err);

#endif
