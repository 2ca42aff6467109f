/* SPDX-License-Identifier: MIT */
/*
 * image_writer: writes the file of a heap image (lib/logfile/image_format.h) from a copy of memory.
 *
 * Of the copy, only words that are pointers into a range get into the file. Memory use does not
 * depend on the size of the copy.
 *
 * Threads: any. Errors: the target is unchanged, and the message names it.
 */
#ifndef MTRACE_RECORDER_IMAGE_WRITER_H
#define MTRACE_RECORDER_IMAGE_WRITER_H

#include "lib/base/error.h"
#include "lib/logfile/image_format.h"

#include <stddef.h>
#include <stdint.h>

/* Memory from `start` on, in the file of the copy. Both numbers are multiples of 4 KiB. */
struct image_copied {
    uint64_t start, n_bytes;
    uint64_t file_offset;
};

/* Nothing is owned. Arrays are in the order of addresses. */
struct image_contents {
    struct image_header header; /* magic, sizes and n_sections are set by the writer */
    const void *threads;        /* as in the section THREADS */
    const struct image_range *ranges;
    const char *paths;
    const struct image_pages *pages;
    const struct image_copied *copied;
    size_t n_thread_bytes, n_ranges, n_path_bytes, n_pages, n_copied;
    int copy_fd;
};

/* Creates or replaces `target`, with mode 0600 if it is new. */
int image_writer_write(const struct image_contents *contents, const char *target,
                       struct error *err);

#endif
