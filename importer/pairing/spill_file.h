/* SPDX-License-Identifier: MIT */
/*
 * spill_file: an unnamed temporary file next to the target, written sequentially, then read.
 *
 * Appended bytes are buffered and written in large pieces. The file has no name, so it vanishes
 * when the process ends for any reason. Reads and writes use explicit offsets: after a fork both
 * processes may go on, but their appends overwrite each other.
 *
 * Threads: one at a time.
 * Errors: I/O; messages name the folder.
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
    uint64_t size_bytes; /* appended so far, including buffered bytes */
};

/* Opens a file in the folder of `beside`. Call spill_file_done also after a failure. */
int spill_file_open(struct spill_file *file, const char *beside, struct error *err);
void spill_file_done(struct spill_file *file);

/* n_bytes <= SPILL_FILE_BUFFER_BYTES. */
int spill_file_append(struct spill_file *file, const void *bytes, size_t n_bytes,
                      struct error *err);

/* Writes the buffered bytes; needed before they are read. */
int spill_file_flush(struct spill_file *file, struct error *err);

/* Reads up to n_bytes at `offset`; *ret_read is less only at the end of the file. */
int spill_file_read(const struct spill_file *file, uint64_t offset, void *bytes, size_t n_bytes,
                    size_t *ret_read, struct error *err);

#endif
