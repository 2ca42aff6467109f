/* SPDX-License-Identifier: MIT */
/*
 * pair_sums: blocks and bytes by process, stack and a third number: the stack that freed them, or
 * the time bucket of the process in which they were allocated.
 *
 * The sums are a struct hash_map of struct pair_sum. A zeroed map is empty; hash_map_done frees it.
 *
 * Invariants
 *   PS-2 After pair_sums_sort the sums are in the order of the key and read-only.
 */
#ifndef MTRACE_QUERIES_PAIR_SUMS_H
#define MTRACE_QUERIES_PAIR_SUMS_H

#include "lib/base/hash_map.h"

struct pair_sum {
    uint32_t process; /* these three are the key */
    uint32_t backtrace;
    uint32_t other;
    int64_t blocks, bytes;
};

/* False: no memory. */
bool pair_sums_add(struct hash_map *sums, const struct pair_sum *what);
void pair_sums_sort(struct hash_map *sums);

static inline const struct pair_sum *pair_sums_at(const struct hash_map *sums, size_t index)
{
    return (const struct pair_sum *)sums->elements + index;
}

#endif
