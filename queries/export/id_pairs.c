/* SPDX-License-Identifier: MIT */
#include "queries/export/id_pairs.h"

#include <stdlib.h>

void id_pairs_init(struct id_pairs *pairs)
{
    *pairs = (struct id_pairs){.list = NULL};
}

void id_pairs_done(struct id_pairs *pairs)
{
    free(pairs->list);
    free(pairs->slots);
}

static size_t hash(int64_t first, int64_t second)
{
    uint64_t h = (uint64_t)first * UINT64_C(0x9e3779b97f4a7c15);

    h ^= (uint64_t)second * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (size_t)(h ^ (h >> 31));
}

static bool grow_slots(struct id_pairs *pairs)
{
    size_t n_slots = pairs->slots ? 2 * (pairs->mask + 1) : 1024;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < pairs->n; i++) {
        size_t at = hash(pairs->list[i].first, pairs->list[i].second) & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(pairs->slots);
    pairs->slots = slots;
    pairs->mask = n_slots - 1;
    return true;
}

static bool grow_list(struct id_pairs *pairs)
{
    size_t capacity = pairs->capacity ? 2 * pairs->capacity : 512;
    struct id_pair *list = reallocarray(pairs->list, capacity, sizeof(*list));

    if (!list)
        return false;
    pairs->list = list;
    pairs->capacity = capacity;
    return true;
}

int64_t id_pairs_get(struct id_pairs *pairs, int64_t first, int64_t second, bool *ret_is_new)
{
    size_t at;

    if ((!pairs->slots || 2 * pairs->n > pairs->mask) && !grow_slots(pairs))
        return -1;
    for (at = hash(first, second) & pairs->mask; pairs->slots[at]; at = (at + 1) & pairs->mask) {
        const struct id_pair *pair = &pairs->list[pairs->slots[at] - 1];
        if (pair->first == first && pair->second == second) {
            *ret_is_new = false;
            return (int64_t)pairs->slots[at] - 1;
        }
    }
    if (pairs->n == pairs->capacity && !grow_list(pairs))
        return -1;
    pairs->list[pairs->n] = (struct id_pair){first, second};
    pairs->slots[at] = (uint32_t)++pairs->n;
    *ret_is_new = true;
    return (int64_t)pairs->n - 1;
}
