/* SPDX-License-Identifier: MIT */
/*
 * file_io: full reads and writes, regular files, and symbolic links. Any thread.
 *
 * file_io_read and file_io_write are pread and pwrite of all bytes, retried after short transfers
 * and EINTR. They return 0 or an errno value. *ret_n is the number of bytes transferred, also on
 * failure.
 *
 * file_io_open_regular* open a regular file for reading where the name may be of anything. The file
 * that is checked is the file that is read, and opening a pipe does not wait for a writer. The
 * message says what the name is instead.
 */
#ifndef MTRACE_LIB_FILE_IO_H
#define MTRACE_LIB_FILE_IO_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* ret_n may be NULL. */
int file_io_write(int fd, const void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n);

/* *ret_n is less than n_bytes at the end of the file. */
int file_io_read(int fd, void *bytes, size_t n_bytes, uint64_t offset, size_t *ret_n);

/* ---- regular files ---- */

/* `otherwise` is the error code for what is not a file. *ret_fd is -1 on failure. */
int file_io_open_regular(const char *path, enum error_code otherwise, int *ret_fd,
                         struct stat *ret_status, struct error *err);

/* The same for an untrusted name from a program: opens only a regular file, and does not follow a
 * link at its end. Opening a device or pipe would have side effects. *ret_fd -1: not a regular
 * file. */
void file_io_open_regular_foreign(const char *path, int *ret_fd, struct stat *ret_status);

/* When its content was last changed, in ns since 1970. */
static inline int64_t file_io_modified_ns(const struct stat *status)
{
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

/* ---- links ---- */

/* The text of the link, cut to n_bytes - 1 and NUL-terminated. False: no such link; the text is
 * "". */
bool file_io_link_target(const char *path, char *ret_target, size_t n_bytes);

#endif
