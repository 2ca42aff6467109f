/* SPDX-License-Identifier: MIT */
/*
 * windows: the time spans in which allocations of a process were recorded.
 *
 * LOG_TRACING events begin and end windows; a process that is recorded from its start begins with
 * one. One thread ends a window while others may be inside an allocation: what they still write
 * belongs to the window that ended last.
 *
 * Invariants
 *   WN-1 Every allocation of the process is in exactly one window: first_allocation ..
 *        last_allocation, without the ids of other processes. Windows are in order and do not
 *        overlap.
 *   WN-2 If blocks were allocated before any window (damaged log), a window begins with the
 *        process, and started_by is unknown.
 *   WN-3 If windows are bounded, the last one includes all later ones; paused_ns is the time
 *        between those. Each allocation is still in one window, and sums cover all.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_WINDOWS_H
#define MTRACE_IMPORTER_WINDOWS_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What began or ended a window: LOG_SWITCH_*, or the begin or end of the process. */
enum {
    WINDOWS_BY_PROCESS = 256,
};

struct window {
    uint64_t start_ns, end_ns;                  /* end_ns: only valid if not open */
    uint64_t first_allocation, last_allocation; /* ids; last < first: none */
    uint64_t allocated_blocks,
        allocated_bytes;                  /* until it is settled: sums of the process before it */
    uint64_t leaked_blocks, leaked_bytes; /* allocated in it and never freed */
    uint64_t paused_ns;                   /* WN-3 */
    unsigned started_by, ended_by;        /* LOG_SWITCH_* or WINDOWS_BY_PROCESS */
    bool is_open;
};

/* Zero-initialized: empty and unbounded. */
struct windows {
    struct window *list;
    size_t n, capacity;
    size_t most; /* WN-3; 0: any number */
    uint64_t n_left_out;
};

/* Sums of the process since its start; last_allocation is of all processes. */
struct window_numbers {
    uint64_t allocated_blocks, allocated_bytes, last_allocation;
    uint64_t start_ns; /* of the process */
    bool began_on;
};

void windows_done(struct windows *windows);

/* An EVENT_TRACING. */
int windows_switch(struct windows *windows, bool is_on, unsigned by, uint64_t time_ns,
                   const struct window_numbers *numbers, struct error *err);

bool windows_is_open(const struct windows *windows);

/* No allocation follows. */
int windows_finish(struct windows *windows, const struct window_numbers *numbers,
                   struct error *err);

/* Begin of the first window and end of the last one; without windows, the given time of the
 * process. After windows_finish. */
uint64_t windows_start_ns(const struct windows *windows, uint64_t start_ns);
uint64_t windows_end_ns(const struct windows *windows, uint64_t end_ns);

/* Counts a block that was never freed. After windows_finish. */
void windows_leaked_earlier(struct windows *windows, uint64_t allocation_id, uint64_t blocks,
                            uint64_t bytes);

static inline void windows_leaked(struct windows *windows, uint64_t allocation_id, uint64_t blocks,
                                  uint64_t bytes)
{
    struct window *last = windows->n ? &windows->list[windows->n - 1] : NULL;

    if (last && last->first_allocation <= allocation_id) {
        last->leaked_blocks += blocks;
        last->leaked_bytes += bytes;
    } else {
        windows_leaked_earlier(windows, allocation_id, blocks, bytes);
    }
}

/* Saves the windows, or loads them into zero-initialized ones (checkpoint_io.h). */
void windows_visit(struct windows *windows, struct checkpoint_io *io);

#endif
