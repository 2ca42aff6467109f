/* SPDX-License-Identifier: MIT */
/*
 * image_writer: writes the file of a heap image (lib/logfile/image_format.h).
 *
 * Memory use does not depend on the number of pointers.
 *
 * Threads: any. Errors: the target is unchanged, and the message names it.
 */
#ifndef MTRACE_RECORDER_IMAGE_WRITER_H
#define MTRACE_RECORDER_IMAGE_WRITER_H

#include "lib/base/error.h"
#include "lib/logfile/image_format.h"

#include <stddef.h>
#include <stdint.h>

/* Nothing is owned. Arrays are in the order of addresses. */
struct image_contents {
    struct image_header header; /* magic, sizes and n_sections are set by the writer */
    const void *threads;        /* as in the section THREADS */
    const struct image_range *ranges;
    const char *paths;
    const struct image_pages *pages;
    size_t n_thread_bytes, n_ranges, n_path_bytes, n_pages;
    int words_fd; /* a file with the section WORDS */
    uint64_t n_word_bytes;
};

/* Creates or replaces `target`, with mode 0600 if it is new. */
int image_writer_write(const struct image_contents *contents, const char *target,
                       struct error *err);

#endif
