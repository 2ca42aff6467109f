/* SPDX-License-Identifier: MIT */
/*
 * phases: the times of a process that its program gave names.
 *
 * Model:   a phase notes what the process had counted when it begins, and what is more when it
 *          ends. Peaks: one maximum since anything last began or ended, handed to all that were open.
 * Invariants
 *   PS-1 Phases are in the order in which they began; `parent` was the one begun last of those open.
 *        What was open at any instant is the phase begun last before it, or some of its ancestors.
 *   PS-2 A block was born in a phase if its id is first_allocation .. last_allocation.
 *   PS-3 At most PHASES_OPEN are open at once, so that an event, and a leak, costs a bounded time whatever the
 *        log says; one more is as unknown as the end of it.
 *   PS-4 `names` counts each phase with others of its name when it ends, and when all end. Where phases are bounded, those that come first have a row
 *        of their own, the others are in `names` alone, and the blocks that leak from them in those around them; names beyond PHASES_NAMES
 *        are one, NULL.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_PHASES_H
#define MTRACE_IMPORTER_PHASES_H

#include "importer/log/checkpoint_io.h"
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

/* Of the process, since its start. */
struct phase_numbers {
    uint64_t allocated_blocks, allocated_bytes;
    uint64_t freed_blocks, freed_bytes;
    uint64_t live_bytes; /* now */
};

struct phase {
    const char *name;
    uint64_t start_ns, end_ns; /* end_ns: meant only when it is not open any more */
    uint64_t first_allocation, last_allocation; /* ids; last < first: none */
    struct phase_numbers at_start, in_it;       /* in_it.live_bytes: at its end */
    uint64_t peak_bytes;                        /* of the process, while it lasted */
    uint64_t leaked_blocks, leaked_bytes;       /* born in it and never freed */
    uint64_t number;
    size_t parent; /* index + 1, 0: none, or it has no row itself */
    uint32_t thread;
    bool is_open; /* at the end: the program did not end it */
};

/* All phases of one name. */
struct phase_name {
    uint64_t phases;
    uint64_t ended_ns; /* that those took which ended */
    uint64_t allocated_blocks, allocated_bytes, freed_blocks, freed_bytes;
    uint64_t peak_bytes; /* of the process, in one of them */
};

/* All zero: none, and any number. */
struct phases {
    struct phase *list;
    size_t n, capacity;
    size_t most; /* PS-4; 0: any number */
    uint64_t n_left_out;
    struct phase *
        passing; /* those that are open and will have no row, in order; all began after those in `open` */
    size_t n_passing, passing_capacity;
    struct phase_name *names; /* by number in `texts`; the one of all others last */
    size_t n_names, names_capacity;
    struct intern texts;
    size_t *open; /* indexes of those of `list` that are, in order */
    size_t n_open, open_capacity;
    uint64_t window_peak; /* since a phase last began or ended */
};

void phases_done(struct phases *phases);

/* An EVENT_PHASE. last_allocation: the id given last. false: it ends what is not open, or begins one too
 * many (PS-3). */
int phases_event(struct phases *phases, const struct event *event,
                 const struct phase_numbers *numbers, uint64_t last_allocation, bool *ret_is_known,
                 struct error *err);

/* An instant ended with these. */
static inline void phases_advance(struct phases *phases, uint64_t live_bytes)
{
    if (phases->n_open + phases->n_passing && live_bytes > phases->window_peak)
        phases->window_peak = live_bytes;
}

/* n < n_names; NULL: of all others. */
const char *phases_name(const struct phases *phases, size_t n);

/* A block that was never freed; after phases_finish. */
void phases_leaked(struct phases *phases, uint64_t allocation_id, uint64_t blocks, uint64_t bytes);

/* What is open is taken as it is now. */
int phases_finish(struct phases *phases, const struct phase_numbers *numbers,
                  uint64_t last_allocation, struct error *err);

/* Into the bytes or from them, into one that is all zero (checkpoint_io.h). */
void phases_visit(struct phases *phases, uint32_t n_threads, struct checkpoint_io *io);

#endif
