/* SPDX-License-Identifier: MIT */
/*
 * memory_samples: memory of a process over time, from samples of its totals.
 *
 * Some samples of totals have the parts of resident memory (resident_parts.h). The recorder samples
 * the heaps of glibc before it samples parts.
 *
 * Invariants
 *   SR-1 Every sample of totals is emitted, in order of time within a process.
 *   SR-2 A heap sample covers all heaps of the process: those it does not name are gone.
 *
 * Threads: one at a time.
 * Errors: memory, or those of the sink.
 */
#ifndef MTRACE_IMPORTER_MEMORY_SAMPLES_H
#define MTRACE_IMPORTER_MEMORY_SAMPLES_H

#include "importer/log/checkpoint_io.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum memory_part {
    MEMORY_PART_HEAP,
    MEMORY_PART_OWN_MAPPING, /* of the program */
    MEMORY_PART_STACK,
    MEMORY_PART_SHARED,
    MEMORY_PART_FILE,
    MEMORY_PART_OTHER,
    MEMORY_PARTS,
    MEMORY_PART_MTRACE = MEMORY_PARTS, /* not part of the sample */
};

struct memory_sample {
    uint32_t process;
    uint64_t time_ns;
    uint64_t rss_bytes, anonymous_bytes, file_bytes; /* without own_bytes */
    uint64_t own_bytes;           /* resident part of mtrace itself; UINT64_MAX: not known */
    uint64_t parts[MEMORY_PARTS]; /* their sum is rss_bytes; UINT64_MAX: not sampled */
};

typedef int memory_samples_fn(void *context, const struct memory_sample *sample, struct error *err);

struct memory_samples;

int memory_samples_new(uint32_t n_processes, memory_samples_fn *taken, void *context,
                       struct memory_samples **ret, struct error *err);

/* NULL is fine. A sample that waits for its parts is lost unless memory_samples_finish was
 * called. */
void memory_samples_free(struct memory_samples *samples);

/* In order of time within a process. Resident bytes of the log and of mtrace's library are
 * subtracted from the next totals, because the program would not have them. The functions set
 * own_bytes and parts of the sample. */
void memory_samples_own(struct memory_samples *samples, uint32_t id, uint64_t file_bytes,
                        uint64_t private_bytes);
int memory_samples_totals(struct memory_samples *samples, const struct memory_sample *sample,
                          struct error *err);
int memory_samples_heap(struct memory_samples *samples, uint32_t id, uint64_t time_ns,
                        uint64_t start, uint64_t end, struct error *err);

/* Adds resident bytes to a part of the sample that waits; no sample waits: nothing happens. */
void memory_samples_add_part(struct memory_samples *samples, uint32_t id, enum memory_part part,
                             uint64_t bytes);

/* All parts were added, OTHER is the rest. Bytes of MEMORY_PART_MTRACE are subtracted from this
 * sample and from later ones without parts. */
void memory_samples_end_parts(struct memory_samples *samples, uint32_t id);

/* The known heaps of glibc: does one contain the address? *ret_until: where the answer changes. */
bool memory_samples_is_heap(const struct memory_samples *samples, uint32_t id, uint64_t address,
                            uint64_t *ret_until);

int memory_samples_finish(struct memory_samples *samples, struct error *err);

/* Saves the samples, or loads them into new ones for at least as many processes
 * (checkpoint_io.h). */
void memory_samples_visit(struct memory_samples *samples, struct checkpoint_io *io);

#endif
