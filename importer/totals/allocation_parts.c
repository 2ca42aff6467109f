/* SPDX-License-Identifier: MIT */
#include "importer/totals/allocation_parts.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>

void allocation_parts_done(struct allocation_parts *allocations)
{
    free(allocations->rows);
    free(allocations->pieces);
    *allocations = (struct allocation_parts){.rows = NULL};
}

int allocation_parts_make(struct allocation_parts *allocations, uint32_t n_stacks, uint32_t stack,
                          uint32_t part, struct error *err)
{
    void *pieces = dynamic_array_reserve(allocations->pieces, &allocations->max_pieces,
                                         allocations->n_pieces + 1, sizeof *allocations->pieces);

    if (pieces)
        allocations->pieces = pieces;
    if (!allocations->rows)
        allocations->rows = calloc((size_t)n_stacks + 1, sizeof *allocations->rows);
    if (!pieces || !allocations->rows)
        return error_set(err, ERROR_NOMEM, "out of memory for the allocation times of %u stacks",
                         n_stacks);
    allocations->rows[stack][part / ALLOCATION_PARTS_PER_PIECE] = (uint32_t)++allocations->n_pieces;
    return 0;
}

int allocation_parts_emit(const struct allocation_parts *allocations, uint32_t stack,
                          uint32_t process, uint32_t backtrace, struct hash_map *tally,
                          struct error *err)
{
    int code = 0;

    for (uint32_t part = 0; allocations->rows && code == 0 && part < ALLOCATION_PARTS; part++) {
        uint32_t piece = allocations->rows[stack][part / ALLOCATION_PARTS_PER_PIECE];
        if (!piece) {
            part |= ALLOCATION_PARTS_PER_PIECE - 1;
            continue;
        }
        const struct allocation_part *own =
            &allocations->pieces[piece - 1][part % ALLOCATION_PARTS_PER_PIECE];
        if (own->blocks)
            code =
                pair_totals_append(tally, process, backtrace, part, own->blocks, own->bytes, err);
    }
    return code;
}
