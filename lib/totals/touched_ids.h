/* SPDX-License-Identifier: MIT */
/*
 * touched_ids: a set of ids with cheap clearing, so that work per process depends on its own ids
 * only.
 *
 * It has a mark per id and a list of the marked ones.
 *
 * Threads: one at a time.
 * Errors: memory, in touched_ids_init only.
 */
#ifndef MTRACE_LIB_TOUCHED_IDS_H
#define MTRACE_LIB_TOUCHED_IDS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct touched_ids {
    uint32_t *ids;
    bool *is_touched;
    size_t n;
};

/* For ids below `end`. Call touched_ids_done also after a failure. */
int touched_ids_init(struct touched_ids *touched, size_t end, struct error *err);
void touched_ids_done(struct touched_ids *touched);

/* Returns false if it was in the set already. */
static inline bool touched_ids_add(struct touched_ids *touched, uint32_t id)
{
    if (touched->is_touched[id])
        return false;
    touched->is_touched[id] = true;
    touched->ids[touched->n++] = id;
    return true;
}

/* Sorts ids[0..n). */
void touched_ids_sort(struct touched_ids *touched);

void touched_ids_clear(struct touched_ids *touched);

#endif
