/* SPDX-License-Identifier: MIT */
/*
 * image_file: reads a heap image (image_format.h).
 *
 * All sections but WORDS are in memory; image_file_words decodes WORDS as a stream, because it may
 * be as large as the heap.
 *
 * Invariants
 *   HI-1 What image_file_open accepts is consistent: ranges and pages are sorted and do not
 *        overlap, paths end with a NUL, counts fit the sections.
 *
 * Threads: one at a time. Errors: ERROR_FORMAT with the path and what is damaged.
 */
#ifndef MTRACE_IMPORTER_IMAGE_FILE_H
#define MTRACE_IMPORTER_IMAGE_FILE_H

#include "lib/base/error.h"
#include "lib/logfile/image_format.h"

#include <stddef.h>

struct image_registers {
    struct image_thread thread;
    const uint64_t *words; /* thread.n_words; of the image */
};

/* Receives the pointers of one page in the order of addresses. */
typedef int image_page_function(void *context, uint64_t page, const uint64_t *mask,
                                const uint64_t *values, struct error *err);

struct image_file;
typedef int image_words_function(const struct image_file *image, image_page_function *page,
                                 void *context, struct error *err);

/* Memory from `start` on, in the file of a core. */
struct image_load {
    uint64_t start, n_bytes, file_offset;
};

struct image_file {
    struct image_header header;
    struct image_registers *threads;
    size_t n_threads;
    const struct image_range *ranges;
    size_t n_ranges;
    const struct image_pages *pages;
    size_t n_pages;
    const char *paths;
    size_t n_path_bytes;
    /* private */
    char *path;
    int fd;
    void *raw[IMAGE_WORDS]; /* of each section before WORDS */
    uint64_t words_offset, words_bytes, words_checksum;
    /* private, of a core: image_file_words, and its memory in the order of addresses */
    image_words_function *core_words;
    struct image_load *loads;
    size_t n_loads;
};

/* Fills `threads` from the section THREADS in memory. */
int image_file_take_threads(struct image_file *image, size_t raw_bytes, struct error *err);

/* Close with image_file_close, also after a failure. */
int image_file_open(const char *path, struct image_file *image, struct error *err);

void image_file_close(struct image_file *image);

/* The range that contains the address; NULL: none. */
const struct image_range *image_file_range(const struct image_file *image, uint64_t address);

/* The name of a range's file; "" if it is anonymous. */
const char *image_file_path(const struct image_file *image, const struct image_range *range);

/* Calls `page` for each page with pointers. Values are arbitrary numbers: the file is untrusted. */
int image_file_words(const struct image_file *image, image_page_function *page, void *context,
                     struct error *err);

#endif
