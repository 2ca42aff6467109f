/* SPDX-License-Identifier: MIT */
/*
 * punched_hole: the mark of a packed log whose beginning another machine has, and whose space here was given back.
 *
 * Model:   behind the header page, in place of the first frame, stands struct log_punched_hole (lib/abi/log_format.h); from `until` on the file is
 *          as it was. What lies between is a hole, or what was there.
 * Invariants
 *   GV-1 `until` is where a frame begins, or the file ends.
 * Threads: any.
 */
#ifndef MTRACE_LIB_PUNCHED_HOLE_H
#define MTRACE_LIB_PUNCHED_HOLE_H

#include "lib/abi/log_format.h"

#include <stddef.h>
#include <stdint.h>

/* Of what stands behind the header page; 0: it is no mark. */
uint64_t punched_hole_parse(const void *bytes, size_t n_bytes);

/* The same, of a file. */
uint64_t punched_hole_read(int fd);

/* 0, or errno. */
int punched_hole_mark(int fd, uint64_t until);

#endif
