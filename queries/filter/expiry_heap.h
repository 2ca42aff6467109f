/* SPDX-License-Identifier: MIT */
/*
 * death_queue: the ends of blocks that are still ahead, earliest first, while rows come in the order of birth.
 *
 * Model: a binary heap.
 * Memory: that of the blocks that are live at once.
 */
#ifndef MTRACE_QUERIES_EXPIRY_HEAP_H
#define MTRACE_QUERIES_EXPIRY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct free_event {
    int64_t at_ns, blocks, bytes;
    size_t of;       /* whatever the caller counts by */
    double variance; /* of bytes, where they are an estimate */
};

struct expiry_heap {
    struct free_event *list;
    size_t n, capacity;
};

/* All zero is an empty one. False: no memory. */
bool expiry_heap_push(struct expiry_heap *queue, struct free_event free_event);

/* Takes the earliest out; false: there is none until at_ns. */
bool expiry_heap_pop(struct expiry_heap *queue, int64_t at_ns, struct free_event *ret_free_event);
void expiry_heap_done(struct expiry_heap *queue);

#endif
