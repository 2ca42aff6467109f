/* SPDX-License-Identifier: MIT */
/*
 * regular_file: a file that is there, opened for reading, where anything could have been named.
 *
 * Model:   what was looked at is what is read; nobody waits for who may write into a pipe.
 * Failure: says what is in the way. Threads: any.
 */
#ifndef MTRACE_LIB_REGULAR_FILE_H
#define MTRACE_LIB_REGULAR_FILE_H

#include "lib/base/error.h"

#include <sys/stat.h>

/* `otherwise` is the code for what is no file. *ret_fd is -1 on failure. */
int regular_file_open(const char *path, enum error_code otherwise, int *ret_fd,
                      struct stat *ret_status, struct error *err);

/* The same of a name that a program wrote: nothing but a regular file is opened, and not through a link at its end. What opening a device or
 * a pipe sets off does not happen. *ret_fd -1: it is none. */
void regular_file_open_foreign(const char *path, int *ret_fd, struct stat *ret_status);

#endif
