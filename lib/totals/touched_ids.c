/* SPDX-License-Identifier: MIT */
#include "lib/totals/touched_ids.h"

#include <stdlib.h>

int touched_ids_init(struct touched_ids *touched, size_t end, struct error *err)
{
    *touched = (struct touched_ids){
        .ids = calloc(end + 1, sizeof *touched->ids),
        .is_touched = calloc(end + 1, sizeof *touched->is_touched),
    };
    if (touched->ids && touched->is_touched)
        return 0;
    return error_set(err, ERROR_NOMEM, "out of memory for a set of %zu ids", end);
}

void touched_ids_done(struct touched_ids *touched)
{
    free(touched->ids);
    free(touched->is_touched);
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

void touched_ids_sort(struct touched_ids *touched)
{
    if (touched->n)
        qsort(touched->ids, touched->n, sizeof *touched->ids, compare);
}

void touched_ids_clear(struct touched_ids *touched)
{
    for (size_t i = 0; i < touched->n; i++)
        touched->is_touched[touched->ids[i]] = false;
    touched->n = 0;
}
