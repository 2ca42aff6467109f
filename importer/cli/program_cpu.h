/* SPDX-License-Identifier: MIT */
/*
 * program_cpu: processor time of the recorded processes so far, for work that is limited to a share
 * of it.
 *
 * The kernel is asked by PID, which is valid on this machine while the log is written. An exited
 * process keeps its last value. A process whose log has its end is not asked, because its PID may
 * be reused. The value before an exec is the start value of the next image.
 *
 * Threads: one per struct. Without memory some processes count as 0.
 */
#ifndef MTRACE_IMPORTER_PROGRAM_CPU_H
#define MTRACE_IMPORTER_PROGRAM_CPU_H

#include "importer/model/definitions.h"

#include <stddef.h>
#include <stdint.h>

/* All zero at first. */
struct program_cpu {
    uint64_t *seen_ns; /* by process; the last values */
    size_t n;
};

/* Sum of all processes in ns; 0: unknown for all of them. */
uint64_t program_cpu_ns(struct program_cpu *cpu, const struct definitions *definitions);

void program_cpu_done(struct program_cpu *cpu);

#endif
