/* SPDX-License-Identifier: MIT */
/*
 * pointer_filter: which words of a page are pointers into a range of a heap image, or to the byte
 * behind it.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_POINTER_FILTER_H
#define MTRACE_RECORDER_POINTER_FILTER_H

#include "lib/logfile/image_format.h"

#include <stddef.h>
#include <stdint.h>

/* Ranges without a gap between them are one. */
struct pointer_span {
    uint64_t start, end;
};

struct pointer_filter {
    struct pointer_span *spans;
    size_t n_spans;
    size_t hint; /* neighbouring words often point into the same span */
};

enum {
    POINTER_FILTER_PAGE_BYTES = sizeof(struct image_page) + IMAGE_PAGE_WORDS * sizeof(uint64_t)
};

/* The ranges are in the order of addresses. Returns an errno value. */
int pointer_filter_init(struct pointer_filter *filter, const struct image_range *ranges,
                        size_t n_ranges);

/* Appends the page to ret_bytes, as in the section WORDS; there is room for
 * POINTER_FILTER_PAGE_BYTES. Returns their number, 0 if the page has no pointers. */
size_t pointer_filter_page(struct pointer_filter *filter, uint64_t address, const uint64_t *words,
                           uint8_t *ret_bytes);

void pointer_filter_done(struct pointer_filter *filter);

#endif
