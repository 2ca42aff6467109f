/* SPDX-License-Identifier: MIT */
/*
 * expiry_heap: pending frees, earliest first, for a scan of rows in the order of allocation. A
 * binary heap. Its memory grows with the blocks that are live at the same time.
 */
#ifndef MTRACE_QUERIES_EXPIRY_HEAP_H
#define MTRACE_QUERIES_EXPIRY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct free_event {
    int64_t at_ns, blocks, bytes;
    size_t of;       /* an index of the caller */
    double variance; /* of bytes if they are an estimate */
};

struct expiry_heap {
    struct free_event *list;
    size_t n, capacity;
};

/* A zeroed heap is empty. False: no memory. */
bool expiry_heap_push(struct expiry_heap *queue, struct free_event free_event);

/* Removes the earliest free; false: no free is due at at_ns or before. */
bool expiry_heap_pop(struct expiry_heap *queue, int64_t at_ns, struct free_event *ret_free_event);
void expiry_heap_done(struct expiry_heap *queue);

#endif
