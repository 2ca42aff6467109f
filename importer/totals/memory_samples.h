/* SPDX-License-Identifier: MIT */
/*
 * memory_samples: what a process took at an instant, from samples of totals and of heaps.
 *
 * Model:   heaps are looked at less often than totals: a sample has the extent of all heaps as it
 *          was at the latest look, up to the sample's own time, but each reaches at least as far as
 *          the highest block that was born in it since: it has grown. Where that is less than what
 *          lives in all of them at that time, a sample has the latter.
 * Invariants
 *   SR-1 Every sample of totals is told, in order of time within a process.
 *   SR-2 A look of the recorder is at all heaps of the process: what it does not name is gone.
 * Threads: none.
 * Failure: memory, or what the sink returned.
 */
#ifndef MTRACE_IMPORTER_MEMORY_SAMPLES_H
#define MTRACE_IMPORTER_MEMORY_SAMPLES_H

#include "importer/log/checkpoint_io.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct memory_sample {
    uint32_t process;
    uint64_t time_ns;
    uint64_t rss_bytes, anonymous_bytes, file_bytes; /* without own_bytes */
    uint64_t heaps_bytes;  /* UINT64_MAX: none was looked at until then, or lives */
    uint64_t mapped_bytes; /* of blocks and anonymous mappings that have pages of their own */
    uint64_t own_bytes;    /* of the log, UINT64_MAX: not known */
};

struct seen_extent {
    uint64_t start, end;
    bool is_arena; /* of a thread; else of the main arena */
};

typedef int memory_samples_fn(void *context, const struct memory_sample *sample, struct error *err);

struct memory_samples;

int memory_samples_new(uint32_t n_processes, const uint8_t *word_bytes, memory_samples_fn *taken,
                       void *context, struct memory_samples **ret, struct error *err);

/* NULL is fine. What waits for its heaps is lost without memory_samples_finish. */
void memory_samples_free(struct memory_samples *samples);

/* All in order of time within a process. What the process has of the log is taken off the next
 * totals, because the program would not have it. own_bytes is found here, and so is
 * heaps_bytes: what is given is the bytes of live blocks in heaps, which it is at least. */
void memory_samples_own(struct memory_samples *samples, uint32_t id, uint64_t own_bytes);
int memory_samples_totals(struct memory_samples *samples, const struct memory_sample *sample,
                          struct error *err);
int memory_samples_heap(struct memory_samples *samples, uint32_t id, uint64_t time_ns,
                        const struct seen_extent *extent, struct error *err);

/* One heap was seen, by itself. */
int memory_samples_extent(struct memory_samples *samples, uint32_t id,
                          const struct seen_extent *extent, struct error *err);

/* A block of glibc's that lies in a heap was born in these addresses. */
int memory_samples_allocated(struct memory_samples *samples, uint32_t id,
                             const struct seen_extent *block, struct error *err);

/* Until something else is told of the process: of a block that lies between these memory_samples_allocated would learn nothing. Perhaps nothing lies there. */
void memory_samples_reported(const struct memory_samples *samples, uint32_t id, uint64_t address,
                             uint64_t *ret_start, uint64_t *ret_end);

int memory_samples_finish(struct memory_samples *samples, struct error *err);

/* Into the bytes or from them, into new ones that have room for as many processes (checkpoint_io.h). */
void memory_samples_visit(struct memory_samples *samples, struct checkpoint_io *io);

#endif
