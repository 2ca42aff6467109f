/* SPDX-License-Identifier: MIT */
/*
 * pair_sums: blocks and bytes by process, stack and a third number: the stack that freed them, or
 * the part of the process's life in which they were born.
 *
 * Model: open addressing over a list; a sum once made stays at its index.
 * Invariants: PS-1 a key has one sum. PS-2 after pair_sums_sort they are in order of the key, and
 *        only reading is allowed.
 */
#ifndef MTRACE_QUERIES_PAIR_SUMS_H
#define MTRACE_QUERIES_PAIR_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pair_sum {
    uint32_t process;
    uint32_t backtrace;
    uint32_t other;
    int64_t blocks, bytes;
};

struct pair_sums {
    struct pair_sum *list;
    size_t n, capacity;
    uint32_t *slots; /* index + 1 */
    size_t mask;
};

/* All zero is an empty one. False: no memory. */
bool pair_sums_add(struct pair_sums *sums, const struct pair_sum *what);
void pair_sums_sort(struct pair_sums *sums);
void pair_sums_done(struct pair_sums *sums);

#endif
