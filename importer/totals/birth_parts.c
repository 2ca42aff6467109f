/* SPDX-License-Identifier: MIT */
#include "importer/totals/birth_parts.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>

void birth_parts_done(struct birth_parts *births)
{
    free(births->rows);
    free(births->pieces);
    *births = (struct birth_parts){.rows = NULL};
}

int birth_parts_make(struct birth_parts *births, uint32_t n_stacks, uint32_t stack, uint32_t part,
                     struct error *err)
{
    void *pieces = dynamic_array_reserve(births->pieces, &births->max_pieces, births->n_pieces + 1,
                                         sizeof *births->pieces);

    if (pieces)
        births->pieces = pieces;
    if (!births->rows)
        births->rows = calloc((size_t)n_stacks + 1, sizeof *births->rows);
    if (!pieces || !births->rows)
        return error_set(err, ERROR_NOMEM, "out of memory for when blocks of %u stacks were born",
                         n_stacks);
    births->rows[stack][part / BIRTH_PARTS_PER_PIECE] = (uint32_t)++births->n_pieces;
    return 0;
}

int birth_parts_tell(const struct birth_parts *births, uint32_t stack, uint32_t process,
                     uint32_t node, struct hash_map *tally, struct error *err)
{
    int code = 0;

    for (uint32_t part = 0; births->rows && code == 0 && part < BIRTH_PARTS; part++) {
        uint32_t piece = births->rows[stack][part / BIRTH_PARTS_PER_PIECE];
        if (!piece) {
            part |= BIRTH_PARTS_PER_PIECE - 1;
            continue;
        }
        const struct birth_part *own = &births->pieces[piece - 1][part % BIRTH_PARTS_PER_PIECE];
        if (own->blocks)
            code = pair_totals_append(tally, process, node, part, own->blocks, own->bytes, err);
    }
    return code;
}
