/* SPDX-License-Identifier: MIT */
/*
 * regular_file: opens a regular file for reading where the name may be of anything.
 *
 * The file that is checked is the file that is read, and opening a pipe does not wait for a writer.
 * The message says what the name is instead. Any thread.
 */
#ifndef MTRACE_LIB_REGULAR_FILE_H
#define MTRACE_LIB_REGULAR_FILE_H

#include "lib/base/error.h"

#include <sys/stat.h>

/* `otherwise` is the error code for what is not a file. *ret_fd is -1 on failure. */
int regular_file_open(const char *path, enum error_code otherwise, int *ret_fd,
                      struct stat *ret_status, struct error *err);

/* The same for an untrusted name from a program: opens only a regular file, and does not follow a
 * link at its end. Opening a device or pipe would have side effects. *ret_fd -1: not a regular
 * file. */
void regular_file_open_foreign(const char *path, int *ret_fd, struct stat *ret_status);

#endif
