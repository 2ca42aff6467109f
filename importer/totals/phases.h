/* SPDX-License-Identifier: MIT */
/*
 * phases: named time spans of a process, set by the program.
 *
 * A phase stores the sums of the process when it begins, and the differences when it ends. One
 * maximum since any phase last began or ended serves the peaks of all open phases.
 *
 * Invariants
 *   PS-1 Phases are in the order in which they began; `parent` is the last begun open one. At any
 *        time the open phases are the one begun last before it, or some of its ancestors.
 *   PS-2 A block was allocated in a phase if its id is in first_allocation .. last_allocation.
 *   PS-3 At most PHASES_OPEN are open, so that an event or leak has bounded cost for any log. The
 *        begin of another one is rejected, and its end is unknown.
 *   PS-4 `names` sums up phases by name when they end. Names after PHASES_NAMES share NULL.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_PHASES_H
#define MTRACE_IMPORTER_PHASES_H

#include "importer/model/event.h"
#include "lib/base/error.h"
#include "lib/base/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PHASES_OPEN = 1024,
    PHASES_NAMES = 4096,
};

/* Sums of the process since its start. */
struct phase_numbers {
    uint64_t allocated_blocks, allocated_bytes;
    uint64_t freed_blocks, freed_bytes;
    uint64_t live_bytes; /* now */
};

struct phase {
    const char *name;
    uint64_t start_ns, end_ns;                  /* end_ns: only valid if not open */
    uint64_t first_allocation, last_allocation; /* ids; last < first: none */
    struct phase_numbers at_start, in_it;       /* in_it.live_bytes: at its end */
    uint64_t peak_bytes;                        /* of the process during the phase */
    uint64_t leaked_blocks, leaked_bytes;       /* allocated in it and never freed */
    uint64_t number;
    size_t parent; /* index + 1; 0: none */
    uint32_t thread;
    bool is_open; /* at the end: the program did not end it */
};

/* All phases of one name. */
struct phase_name {
    uint64_t phases;
    uint64_t ended_ns; /* total duration of those that ended */
    uint64_t allocated_blocks, allocated_bytes, freed_blocks, freed_bytes;
    uint64_t peak_bytes; /* highest of the process during any of them */
};

/* Zero-initialized: empty. */
struct phases {
    struct phase *list;
    size_t n, capacity;
    struct phase_name *names; /* by number in `texts`; the last is for all other names */
    size_t n_names, names_capacity;
    struct intern texts;
    size_t *open; /* indexes in `list` of the open ones, in order */
    size_t n_open, open_capacity;
    uint64_t window_peak; /* since a phase last began or ended */
};

void phases_done(struct phases *phases);

/* Handles an EVENT_PHASE. last_allocation: the last id so far. *ret_is_known is false if it ends a
 * phase that is not open or begins one too many (PS-3). */
int phases_event(struct phases *phases, const struct event *event,
                 const struct phase_numbers *numbers, uint64_t last_allocation, bool *ret_is_known,
                 struct error *err);

/* Updates the peak when time advances. */
static inline void phases_advance(struct phases *phases, uint64_t live_bytes)
{
    if (phases->n_open && live_bytes > phases->window_peak)
        phases->window_peak = live_bytes;
}

/* n < n_names. NULL: the entry of all other names. */
const char *phases_name(const struct phases *phases, size_t n);

/* Counts a block that was never freed. After phases_finish. */
void phases_leaked(struct phases *phases, uint64_t allocation_id, uint64_t blocks, uint64_t bytes);

/* Takes the current sums for the open phases. */
int phases_finish(struct phases *phases, const struct phase_numbers *numbers,
                  uint64_t last_allocation, struct error *err);

#endif
