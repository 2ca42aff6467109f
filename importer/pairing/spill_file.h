/* SPDX-License-Identifier: MIT */
/*
 * spill_file: a nameless temporary file beside the target, written from front to back, then read.
 *
 * Model:   appended bytes are gathered and written in large pieces. The file has no name: whatever
 *          ends the program, nothing stays behind.
 *          Both go by position: a process that is forked may go on with its own, and what it appends is
 *          overwritten by the other.
 * Threads: one at a time.
 * Failure: I/O; messages name the folder.
 */
#ifndef MTRACE_IMPORTER_SPILL_FILE_H
#define MTRACE_IMPORTER_SPILL_FILE_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SPILL_FILE_BUFFER_BYTES = 256 * 1024
};

struct spill_file {
    int fd; /* -1: not open */
    char *folder;
    uint8_t *buffer;
    size_t n_buffered;
    uint64_t size_bytes; /* appended so far, buffered bytes included */
};

/* Opens a file in the folder of `beside`. spill_file_done also after a failure. */
int spill_file_open(struct spill_file *file, const char *beside, struct error *err);
void spill_file_done(struct spill_file *file);

/* n_bytes <= SPILL_FILE_BUFFER_BYTES. */
int spill_file_append(struct spill_file *file, const void *bytes, size_t n_bytes,
                      struct error *err);

/* Writes what is buffered; needed before reading it. */
int spill_file_flush(struct spill_file *file, struct error *err);

/* Reads up to n_bytes at `offset`; *ret_read is less only at the end of the file. */
int spill_file_read(const struct spill_file *file, uint64_t offset, void *bytes, size_t n_bytes,
                    size_t *ret_read, struct error *err);

#endif
