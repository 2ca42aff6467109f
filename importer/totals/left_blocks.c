/* SPDX-License-Identifier: MIT */
#include "importer/totals/left_blocks.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>

void left_blocks_done(struct left_blocks *blocks)
{
    free(blocks->list);
    *blocks = (struct left_blocks){0};
}

int left_blocks_add(struct left_blocks *blocks, const struct live_block *block, uint32_t group,
                    enum pairing_ended_by ended_by, struct error *err)
{
    struct left_block *list =
        dynamic_array_reserve(blocks->list, &blocks->capacity, blocks->n + 1, sizeof *list);

    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu live blocks", blocks->n);
    blocks->list = list;
    list[blocks->n++] =
        (struct left_block){.block = *block, .group = group, .ended_by = (uint8_t)ended_by};
    return 0;
}

static int by_id(const void *left, const void *right)
{
    uint64_t a = ((const struct left_block *)left)->block.allocation_id;
    uint64_t b = ((const struct left_block *)right)->block.allocation_id;

    return (a > b) - (a < b);
}

bool left_blocks_next(struct left_blocks *blocks, struct allocation *ret)
{
    if (!blocks->is_sorted && blocks->n > 1)
        qsort(blocks->list, blocks->n, sizeof *blocks->list, by_id);
    blocks->is_sorted = true;
    if (blocks->n_reported == blocks->n)
        return false;
    const struct left_block *left = &blocks->list[blocks->n_reported++];
    const struct live_block *block = &left->block;
    *ret = (struct allocation){.allocation_id = block->allocation_id,
                               .alloc_ns = block->alloc_ns,
                               .lifetime_ns = PAIRING_UNKNOWN,
                               .address = block->address,
                               .size_bytes = block->size,
                               .slack_bytes = live_block_slack(block),
                               .intervening = PAIRING_UNKNOWN,
                               .node = block->node,
                               .thread = block->thread,
                               .group = left->group,
                               .free_group = left->group,
                               .call = (uint8_t)block->call,
                               .alignment_log2 = (uint8_t)block->alignment_log2,
                               .ended_by = left->ended_by};
    return true;
}
