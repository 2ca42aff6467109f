/* SPDX-License-Identifier: MIT */
/* id_pairs: numbers pairs of ids 0, 1, 2, … in the order in which they are first seen. */
#ifndef MTRACE_QUERIES_ID_PAIRS_H
#define MTRACE_QUERIES_ID_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_pair {
    int64_t first;
    int64_t second;
};

struct id_pairs {
    struct id_pair *list;
    size_t n, capacity;
    uint32_t *slots; /* index in list + 1 */
    size_t mask;
};

void id_pairs_init(struct id_pairs *pairs);
void id_pairs_done(struct id_pairs *pairs);

/* The pair's number and whether it is new; -1: no memory. */
int64_t id_pairs_get(struct id_pairs *pairs, int64_t first, int64_t second, bool *ret_is_new);

#endif
