/* SPDX-License-Identifier: MIT */
/*
 * samples: what a process's memory looks like from outside, at intervals.
 *
 * Model:   three questions to /proc/PID, each at its own pace. Totals (statm) are cheap and come
 *          every interval. Heap extents (maps) and the resident bytes of each mapping (smaps, and
 *          pagemap for those that are in memory in part: which pages) make the kernel walk the process's memory, under its lock: they start soon, because much is
 *          mapped for a moment only, and slow down so that each costs at most one part in
 *          MEMORY_SAMPLER_MAX_SHARE of the time.
 * Invariants
 *   SA-1 n_samples <= PACK_SAMPLES_MAX; samples that do not fit are left out until the caller
 *        empties the buffer.
 * Threads: one.  Failure: a process that is gone gives no samples.
 */
#ifndef MTRACE_RECORDER_MEMORY_SAMPLER_H
#define MTRACE_RECORDER_MEMORY_SAMPLER_H

#include "lib/abi/log_format.h"
#include "lib/logfile/pack.h"

#include <stdint.h>
#include <sys/types.h>

enum {
    MEMORY_SAMPLER_MAX_SHARE = 500, /* a walk waits at least so many times its own duration */
    MEMORY_SAMPLER_MAPPING_MIN_BYTES = 65536, /* smaller mappings are not told */
};

/* One question and its pace. */
struct memory_sampler_pace {
    uint64_t next_ns;
    uint64_t interval_ns;
};

struct memory_sampler {
    pid_t pid;
    uint64_t interval_ns; /* 0: none are taken */
    uint64_t own_bytes;   /* of the log that the program has touched; the caller's to say */
    uint8_t word_bytes;   /* of the process; the caller's to say, too */
    uint64_t rss_bytes;   /* of the last sample; 0: none yet */
    struct memory_sampler_pace totals;
    struct memory_sampler_pace heaps;
    struct memory_sampler_pace mappings;
    uint32_t n_samples;
    struct log_sample samples[PACK_SAMPLES_MAX];
};

void memory_sampler_init(struct memory_sampler *samples, pid_t pid, uint64_t interval_ms,
                         uint64_t now_ns);

/* Takes what is due at now_ns (CLOCK_MONOTONIC); returns when something will be due again. */
uint64_t memory_sampler_take(struct memory_sampler *samples, uint64_t now_ns);

/* Totals are due now. */
void memory_sampler_hurry(struct memory_sampler *samples);

#endif
