/* SPDX-License-Identifier: MIT */
/*
 * both_clocks: what the clock of a log shows now, and CLOCK_MONOTONIC with it, as its program would read them; and how fast it is.
 *
 * Failure: of a program whose counter this machine's code cannot read (another processor, by an emulator), nothing is known.
 * Threads: any.
 */
#ifndef MTRACE_LIB_BOTH_CLOCKS_H
#define MTRACE_LIB_BOTH_CLOCKS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

/* Ticks of a nanosecond, from two readings of both clocks; 0: they are too near each other, or make no sense. */
double both_clocks_rate(uint64_t from_ticks, uint64_t from_ns, uint64_t to_ticks, uint64_t to_ns);

/* False: not known. */
bool both_clocks_read(const struct log_file *file, uint64_t *ret_ticks, uint64_t *ret_ns);

#endif
