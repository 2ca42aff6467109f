/* SPDX-License-Identifier: MIT */
/*
 * whole_io: bytes at a place of a file, all of them: a system call may do a part, or be interrupted.
 *
 * Invariants: WH-1 what was done stands at the beginning, *ret_n bytes of it, also on failure.
 * Threads: any; the position of the descriptor stays.
 * Failure: the errno; nobody is told here, as only who asks knows what the file is.
 */
#ifndef MTRACE_LIB_FULL_IO_H
#define MTRACE_LIB_FULL_IO_H

#include <stddef.h>
#include <stdint.h>

/* 0: all of it was written. ret_n may be NULL. */
int full_io_write(int fd, const void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n);

/* As far as the file goes: *ret_n is less than n_bytes where it ends. */
int full_io_read(int fd, void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n);

#endif
