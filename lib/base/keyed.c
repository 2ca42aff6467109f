/* SPDX-License-Identifier: MIT */
#include "lib/base/keyed.h"

#include "lib/base/growing.h"

#include <stdlib.h>

void keyed_done(struct keyed *keyed)
{
    free(keyed->elements);
    id_table_done(&keyed->table);
    *keyed = (struct keyed){0};
}

void *keyed_add(struct keyed *keyed, const void *key, size_t key_bytes, size_t element_bytes)
{
    void *elements = keyed->n < UINT32_MAX - 1 ? growing_reserve(keyed->elements, &keyed->capacity,
                                                                 keyed->n + 1, element_bytes)
                                               : NULL;
    char *element;

    if (!elements)
        return NULL;
    keyed->elements = elements;
    if (id_table_add(&keyed->table, keyed_hash(key, key_bytes), (uint32_t)keyed->n + 1) != 0)
        return NULL;
    element = (char *)elements + keyed->n++ * element_bytes;
    memcpy(element, key, key_bytes);
    return element;
}
