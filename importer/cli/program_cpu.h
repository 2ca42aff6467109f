/* SPDX-License-Identifier: MIT */
/*
 * program_cpu: what recorded processes took of the processors so far, for who is to take a part of that at most.
 *
 * Model:   asked of the kernel by their pids, which are those of this machine where the log is still written. One that is gone keeps what it had when it
 *          was last asked for; one whose log has its end is not asked for any more, as another may have its pid, and what an image had before an exec is
 *          what the next one begins with.
 * Threads: one for each program_cpu.
 * Failure: without memory some count for nothing.
 */
#ifndef MTRACE_IMPORTER_PROGRAM_CPU_H
#define MTRACE_IMPORTER_PROGRAM_CPU_H

#include "importer/model/definitions.h"

#include <stddef.h>
#include <stdint.h>

/* All zero at first. */
struct program_cpu {
    uint64_t *seen_ns; /* by process, as last asked for */
    size_t n;
};

/* 0: of none of them is anything known. */
uint64_t program_cpu_ns(struct program_cpu *cpu, const struct definitions *definitions);

void program_cpu_done(struct program_cpu *cpu);

#endif
