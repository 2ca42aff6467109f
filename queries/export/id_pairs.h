/* SPDX-License-Identifier: MIT */
/*
 * id_pairs: numbers pairs of ids 0, 1, 2, … in the order of their first use.
 */
#ifndef MTRACE_QUERIES_ID_PAIRS_H
#define MTRACE_QUERIES_ID_PAIRS_H

#include "lib/base/hash_map.h"

struct id_pair {
    int64_t first;
    int64_t second;
};

/* The number of the pair; -1: no memory. */
static inline int64_t id_pairs_get(struct hash_map *pairs, int64_t first, int64_t second,
                                   bool *ret_is_new)
{
    const struct id_pair key = {first, second};
    const size_t n = pairs->n;
    const struct id_pair *pair = hash_map_get(pairs, &key, sizeof(key), sizeof(key));

    *ret_is_new = pairs->n > n;
    return pair ? pair - (const struct id_pair *)pairs->elements : -1;
}

#endif
