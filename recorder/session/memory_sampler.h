/* SPDX-License-Identifier: MIT */
/*
 * memory_sampler: samples the memory of a process through /proc/PID.
 *
 * There are three kinds of samples, each with its own interval. Totals (statm) are cheap and taken
 * at every interval. Heap extents (maps), and the resident bytes of each mapping (smaps, plus
 * pagemap for partly resident mappings) make the kernel walk the process's memory under a lock.
 * These start early, because many mappings are short-lived, and slow down until each takes at most
 * 1/MEMORY_SAMPLER_MAX_SHARE of the time.
 *
 * Invariants
 *   SA-1 n_samples <= PACK_SAMPLES_MAX; further samples are dropped until the caller empties the
 *        buffer.
 *
 * Threads: one. A process that has exited gives no samples.
 */
#ifndef MTRACE_RECORDER_MEMORY_SAMPLER_H
#define MTRACE_RECORDER_MEMORY_SAMPLER_H

#include "lib/abi/log_format.h"
#include "lib/logfile/pack.h"

#include <stdint.h>
#include <sys/types.h>

enum {
    MEMORY_SAMPLER_MAX_SHARE = 500, /* the interval is at least this times the duration of a walk */
    MEMORY_SAMPLER_MAPPING_MIN_BYTES = 65536, /* smaller mappings are not reported */
};

/* One kind of sample and its interval. */
struct memory_sampler_pace {
    uint64_t next_ns;
    uint64_t interval_ns;
};

struct memory_sampler {
    pid_t pid;
    uint64_t interval_ns; /* 0: none are taken */
    uint64_t own_bytes;   /* of the log that the program has touched; set by the caller */
    uint8_t word_bytes;   /* of the process; set by the caller */
    uint64_t rss_bytes;   /* of the last sample; 0: none yet */
    struct memory_sampler_pace totals;
    struct memory_sampler_pace heaps;
    struct memory_sampler_pace mappings;
    uint32_t n_samples;
    struct log_sample samples[PACK_SAMPLES_MAX];
};

void memory_sampler_init(struct memory_sampler *samples, pid_t pid, uint64_t interval_ms,
                         uint64_t now_ns);

/* Takes what is due at now_ns (CLOCK_MONOTONIC); returns when the next sample is due. */
uint64_t memory_sampler_take(struct memory_sampler *samples, uint64_t now_ns);

/* Makes totals due now. */
void memory_sampler_hurry(struct memory_sampler *samples);

#endif
