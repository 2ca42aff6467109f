/* SPDX-License-Identifier: MIT */
/*
 * memory_sampler: samples the memory of a process through /proc/PID.
 *
 * There are three kinds of samples, each with its own interval. Totals (statm) are cheap and taken
 * at every interval. Heap extents (maps), and the parts of resident memory (smaps, plus pagemap for
 * partly resident mappings) make the kernel walk the process's memory under a lock. These start
 * early, because many mappings are short-lived, and slow down. Each takes at most
 * 1/MEMORY_SAMPLER_MAX_SHARE of a processor, after a credit for short programs. Parts are also due,
 * within this share, when the total has changed by 1/8 since they were taken: so they are known
 * near the peak and near the end.
 *
 * Invariants
 *   SA-1 n_samples <= MEMORY_SAMPLER_MAX; further samples are dropped until the caller empties the
 *        buffer. It should do so when PACK_SAMPLES_MAX are there.
 *   SA-2 All samples of the parts of one time are adjacent. PARTS is the last, and missing if one
 *        was dropped.
 *
 * Threads: one. A process that has exited gives no samples.
 */
#ifndef MTRACE_RECORDER_MEMORY_SAMPLER_H
#define MTRACE_RECORDER_MEMORY_SAMPLER_H

#include "lib/abi/log_format.h"
#include "lib/process/proc_files.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    MEMORY_SAMPLER_MAX_SHARE = 200,      /* of both walks together: 1 % */
    MEMORY_SAMPLER_CREDIT_NS = 10000000, /* processor time that a walk may be ahead of its share */
    MEMORY_SAMPLER_FILE_MIN_BYTES = 65536, /* smaller mappings of files are not reported */
    MEMORY_SAMPLER_MAX = 40000,            /* all mappings of most processes */
};

/* One kind of sample and its interval. */
struct memory_sampler_pace {
    uint64_t next_ns;
    uint64_t interval_ns;
    uint64_t paid_ns; /* when the walks so far take no more than their share */
};

struct memory_sampler {
    pid_t pid;
    uint64_t interval_ns; /* 0: none are taken */
    uint64_t own_bytes;   /* of the log that the program has touched; set by the caller */
    int log_fd;           /* of the log; -1: none; set by the caller */
    struct process_mapped_file log_file; /* it as a mapping; inode 0: not looked up yet */
    uint8_t word_bytes;                  /* of the process; set by the caller */
    uint64_t rss_bytes;                  /* of the last sample; 0: none yet */
    uint64_t parts_rss_bytes;            /* when parts were last taken */
    uint64_t library_file_bytes, library_private_bytes; /* resident of mtrace's library then */
    struct memory_sampler_pace totals;
    struct memory_sampler_pace heaps;
    struct memory_sampler_pace parts;
    uint32_t n_samples;
    struct log_sample samples[MEMORY_SAMPLER_MAX];
};

void memory_sampler_init(struct memory_sampler *samples, pid_t pid, uint64_t interval_ms,
                         uint64_t now_ns);

/* Takes what is due at now_ns (CLOCK_MONOTONIC); returns when the next sample is due. */
uint64_t memory_sampler_take(struct memory_sampler *samples, uint64_t now_ns);

/* Adds the parts in this text of smaps, and heap extents. False: the text has no resident memory.
 * For memory_sampler_take and tests; `samples` has room for at least three samples. */
bool memory_sampler_read_parts(struct memory_sampler *samples, FILE *smaps, uint64_t now_ns);

/* Makes totals due now. */
void memory_sampler_hurry(struct memory_sampler *samples);

#endif
