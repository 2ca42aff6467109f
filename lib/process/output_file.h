/* SPDX-License-Identifier: MIT */
/*
 * output_file: a file that appears whole or not at all.
 *
 * Bytes go to a temporary name next to the target. output_file_commit syncs the file (unless
 * is_passing) and moves it into place. A target that is not a regular file (a device, a pipe, a
 * descriptor such as /dev/stdout) is written directly.
 *
 * Invariants
 *   OF-1 Until output_file_commit returns 0, the target is unchanged.
 *   OF-2 After output_file_close, nothing is left of an uncommitted file. What a killed process
 *        left is removed when the same target is opened again on the same machine before a reboot.
 *   OF-3 Without may_replace nothing is replaced, even if it was created after output_file_open.
 *   OF-4 A symbolic link is replaced, never its target. A replaced file passes on its permissions.
 *   OF-5 The file opened last is either committed or abandoned (output_file_abandon), never both.
 *
 * One thread at a time. Only output_file_abandon is async-signal-safe. Every message names the
 * target.
 */
#ifndef MTRACE_LIB_OUTPUT_FILE_H
#define MTRACE_LIB_OUTPUT_FILE_H

#include <stdbool.h>

/* Between the target's name and the unique end of the temporary name. */
#define OUTPUT_FILE_SUFFIX ".part-"

struct error;

struct output_file {
    int fd; /* to write to; -1: none */
    char *target;
    char *temporary; /* NULL: the target itself is written */
    bool may_replace;
    bool is_passing; /* set before the commit: need not survive a crash of the machine */
};

/* mode: of a new file, before the umask. The message of ERROR_EXISTS names --force. Close the file
 * in any case. */
int output_file_open(struct output_file *file, const char *target, bool may_replace, unsigned mode,
                     struct error *err);

/* For callers that write by name: `fd` may have been closed, and is then -1. */
int output_file_commit(struct output_file *file, struct error *err);

/* Like output_file_commit, but keeps a replaced file: the output file then has it under the
 * temporary name, with its space on the disk, to be overwritten. *ret_has_old is false if no file
 * was replaced, it has another name, too, or the file system cannot swap; the result is then that
 * of a commit. */
int output_file_swap(struct output_file *file, bool *ret_has_old, struct error *err);

void output_file_close(struct output_file *file);

/* For a signal handler that then ends the process: removes the temporary file of the file opened
 * last. False: the commit is done or under way; then the process ends soon. */
bool output_file_abandon(void);

/* ERROR_USAGE if the target is the input file. An input that is NULL or does not exist passes. */
int output_file_check_input(const char *target, const char *input, struct error *err);

/* The last step only: moves a finished file of the same folder to the target. */
int output_file_place(const char *temporary, const char *target, bool may_replace,
                      struct error *err);

#endif
