/* SPDX-License-Identifier: MIT */
/*
 * windows: the times in which allocations of a process were recorded.
 *
 * Model:   LOG_TRACING begins and ends them; a process whose recording was on at its start begins with one. What ends one is decided by one
 *          thread while others are in the midst of an allocation: what they still write is of the window that ended last.
 * Invariants
 *   WN-1 Every allocation of the process is of exactly one window: those with ids first_allocation .. last_allocation, or less of
 *        them where other processes have some between. Windows are in order, and do not overlap.
 *   WN-2 Where blocks were born before any window began, as in a damaged log, there is one from the start of the process, and nobody knows who began it.
 *   WN-3 Where they are bounded, the last one has all later ones in it, and paused_ns is what lies between those: each allocation is
 *        still of one, and sums are those of all windows.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_WINDOWS_H
#define MTRACE_IMPORTER_WINDOWS_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who began or ended one: LOG_SWITCH_*, or the process did. */
enum {
    WINDOWS_BY_PROCESS = 256,
};

struct window {
    uint64_t start_ns, end_ns; /* end_ns: meant only when it is not open any more */
    uint64_t first_allocation, last_allocation; /* ids; last < first: none */
    uint64_t allocated_blocks,
        allocated_bytes; /* until it is closed for good: what there was before it */
    uint64_t leaked_blocks, leaked_bytes; /* born in it and never freed */
    uint64_t paused_ns;                   /* WN-3 */
    unsigned started_by, ended_by;        /* LOG_SWITCH_* or WINDOWS_BY_PROCESS */
    bool is_open;
};

/* All zero: none, and any number. */
struct windows {
    struct window *list;
    size_t n, capacity;
    size_t most; /* WN-3; 0: any number */
    uint64_t n_left_out;
};

/* Of the process, since its start; last_allocation: of all processes. */
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

/* Nothing is born any more. */
int windows_finish(struct windows *windows, const struct window_numbers *numbers,
                   struct error *err);

/* From the beginning of the first one to the end of the last one, of a process of that time; after windows_finish. */
uint64_t windows_start_ns(const struct windows *windows, uint64_t start_ns);
uint64_t windows_end_ns(const struct windows *windows, uint64_t end_ns);

/* A block that was never freed; after windows_finish. */
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

/* Into the bytes or from them, into one that is all zero (checkpoint_io.h). */
void windows_visit(struct windows *windows, struct checkpoint_io *io);

#endif
