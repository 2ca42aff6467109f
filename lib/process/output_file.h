/* SPDX-License-Identifier: MIT */
/*
 * output_file: a file that appears whole or not at all.
 *
 * Model: what is written goes to another name beside the target; output_file_commit brings it to the
 *        disk, unless it is passing, and into its place. What is no file (a device, a pipe, a descriptor of ours as /dev/stdout)
 *        is written itself, as it comes.
 * Invariants
 *   OF-1 until output_file_commit returns 0 the target is what it was before.
 *   OF-2 after output_file_close nothing is left of what was not committed.
 *        What a killed process could not close is removed when the same target is opened again, on the
 *        same machine until it is booted.
 *   OF-3 without may_replace nothing is replaced, even if it was made after output_file_open.
 *   OF-4 a symbolic link is replaced, never what it points to; a file that is replaced hands its
 *        permissions on.
 *   OF-5 the file that was opened last is committed or abandoned (output_file_abandon), not both.
 * Threads: one at a time. Signals: output_file_abandon alone. Failure: every message names the target.
 */
#ifndef MTRACE_LIB_OUTPUT_FILE_H
#define MTRACE_LIB_OUTPUT_FILE_H

#include <stdbool.h>

/* Between the target's name and what makes the temporary one its own. */
#define OUTPUT_FILE_SUFFIX ".part-"

struct error;

struct output_file {
    int fd; /* to write to; -1: none */
    char *target;
    char *temporary; /* NULL: the target itself is written */
    bool may_replace;
    bool
        is_passing; /* set before the commit: it need not outlive a crash of the machine, and is not brought to the disk */
};

/* mode: of a new file, before the umask. ERROR_EXISTS says that --force replaces a file. Close it in
 * any case. */
int output_file_open(struct output_file *file, const char *target, bool may_replace, unsigned mode,
                     struct error *err);

/* For who writes by name: `fd` may have been closed, and then is -1. */
int output_file_commit(struct output_file *file, struct error *err);

/* As output_file_commit, but where a file is replaced, that one is not removed: the output file has it from then on, under the temporary name, with the room
 * that it takes on the disk, and is to be written anew. *ret_has_old false: there was none, it has another name, too, or the file system cannot; it is as after a commit. */
int output_file_swap(struct output_file *file, bool *ret_has_old, struct error *err);

void output_file_close(struct output_file *file);

/* For a signal handler that ends the process next: removes what the file that was opened last has
 * under its temporary name. false: it is in its place, or on its way there; then the end is near. */
bool output_file_abandon(void);

/* ERROR_USAGE when the target is the same file as what is read; input NULL, or absent: it is not. */
int output_file_check_input(const char *target, const char *input, struct error *err);

/* The last step alone: a finished file under another name in the same folder becomes the target. */
int output_file_place(const char *temporary, const char *target, bool may_replace,
                      struct error *err);

#endif
