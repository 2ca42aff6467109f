/* SPDX-License-Identifier: MIT */
/*
 * export_events: births and deaths of the blocks that pass the filters, in the order of time.
 *
 * Model: rows come in the order of births; deaths that are still ahead wait in a priority queue.
 *        A death comes before the birth of the same instant, because realloc ends the old block
 *        and makes the new one at one time. What an exec took with it dies with the process.
 * Invariants: EV-1 every birth is given once, and its death once if the block ended. EV-2 times
 *        never fall. EV-3 memory is that of the blocks live at once.
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
    int64_t alloc_ns; /* birth, also in the event of its death */
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
        next; /* the birth that was read and not yet given; free_ns <0: never */
    bool has_next;
};

/* What is live of the selection when its process has most live bytes: that, and not the selection's
 * own highest sum, is the peak of every format, with filters and without. */
struct export_peak {
    int64_t bytes, blocks;
    int64_t at_ns;
    int64_t event; /* the last one until then, counted from 1; 0: there was none */
    int64_t n_events;
};

/* Call export_events_close in any case. With --show-sql the statement is printed and there are no
 * events. */
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
