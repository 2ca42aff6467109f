/* SPDX-License-Identifier: MIT */
/*
 * punched_hole: marks a packed log whose beginning is on another machine, and whose space here was
 * freed.
 *
 * struct log_punched_hole (lib/abi/log_format.h) follows the header page, in place of the first
 * frame. From `until` on the file is unchanged. Before it is a hole, or the old bytes.
 *
 *   GV-1 A frame begins at `until`, or the file ends there.
 *
 * Any thread.
 */
#ifndef MTRACE_LIB_PUNCHED_HOLE_H
#define MTRACE_LIB_PUNCHED_HOLE_H

#include "lib/abi/log_format.h"

#include <stddef.h>
#include <stdint.h>

/* Parses the bytes after the header page. Returns `until`, or 0 if they are not a mark. */
uint64_t punched_hole_parse(const void *bytes, size_t n_bytes);

/* The same for a file. */
uint64_t punched_hole_read(int fd);

/* Returns 0 or errno. */
int punched_hole_mark(int fd, uint64_t until);

#endif
