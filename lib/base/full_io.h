/* SPDX-License-Identifier: MIT */
/*
 * full_io: pread and pwrite of all bytes, retried after short transfers and EINTR.
 *
 * The functions return 0 or an errno value. *ret_n is the number of bytes transferred, also on failure.
 */
#ifndef MTRACE_LIB_FULL_IO_H
#define MTRACE_LIB_FULL_IO_H

#include <stddef.h>
#include <stdint.h>

/* ret_n may be NULL. */
int full_io_write(int fd, const void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n);

/* *ret_n is less than n_bytes at the end of the file. */
int full_io_read(int fd, void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n);

#endif
