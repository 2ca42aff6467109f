/* SPDX-License-Identifier: MIT */
/*
 * clock_pair: reads the clock of a log together with CLOCK_MONOTONIC, as the log's program would,
 * and its rate.
 *
 * Fails if this machine's code cannot read the program's counter (another processor, by an
 * emulator). Any thread.
 */
#ifndef MTRACE_LIB_CLOCK_PAIR_H
#define MTRACE_LIB_CLOCK_PAIR_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

/* Ticks per nanosecond, from two readings of both clocks; 0: they are too close, or make no
 * sense. */
double clock_pair_rate(uint64_t from_ticks, uint64_t from_ns, uint64_t to_ticks, uint64_t to_ns);

/* False: unknown. */
bool clock_pair_read(const struct log_header *file, uint64_t *ret_ticks, uint64_t *ret_ns);

#endif
