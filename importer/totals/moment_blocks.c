/* SPDX-License-Identifier: MIT */
#include "importer/totals/moment_blocks.h"

#include "importer/model/event.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

struct block_list {
    struct moment_block *items;
    size_t n, capacity;
};

struct peak {
    uint64_t peak_ns;
    uint64_t last_id; /* 0: no peak yet */
    struct block_list ended;
};

struct moment_blocks {
    struct peak *peaks; /* by process */
    uint32_t n_processes;
};

int moment_blocks_new(uint32_t n_processes, struct moment_blocks **ret, struct error *err)
{
    struct moment_blocks *blocks = calloc(1, sizeof *blocks);

    if (blocks)
        blocks->peaks = calloc((size_t)n_processes + 1, sizeof *blocks->peaks);
    if (!blocks || !blocks->peaks) {
        moment_blocks_free(blocks);
        return error_set(err, ERROR_NOMEM, "out of memory");
    }
    blocks->n_processes = n_processes;
    *ret = blocks;
    return 0;
}

void moment_blocks_free(struct moment_blocks *blocks)
{
    if (!blocks)
        return;
    for (uint32_t i = 0; blocks->peaks && i <= blocks->n_processes; i++)
        free(blocks->peaks[i].ended.items);
    free(blocks->peaks);
    free(blocks);
}

static int append(struct block_list *list, const struct moment_block *block, struct error *err)
{
    struct moment_block *items =
        dynamic_array_reserve(list->items, &list->capacity, list->n + 1, sizeof *items);

    if (!items)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu blocks of a peak", list->n);
    list->items = items;
    items[list->n++] = *block;
    return 0;
}

struct moment_block moment_blocks_make(uint32_t process, const struct live_block *block)
{
    return (struct moment_block){.allocation_id = block->allocation_id,
                                 .address = block->address,
                                 .size_bytes = block->size,
                                 .slack_bytes = live_block_slack(block),
                                 .process = process,
                                 .backtrace = block->backtrace,
                                 .call = block->call};
}

void moment_blocks_peak(struct moment_blocks *blocks, uint32_t process, uint64_t peak_ns,
                        uint64_t last_id)
{
    struct peak *peak = &blocks->peaks[process];

    if (peak->last_id && peak->peak_ns == peak_ns)
        return;
    peak->peak_ns = peak_ns;
    peak->last_id = last_id;
    peak->ended.n = 0;
}

int moment_blocks_ended(struct moment_blocks *blocks, uint32_t process,
                        const struct live_block *block, struct error *err)
{
    struct peak *peak = &blocks->peaks[process];

    if (block->allocation_id > peak->last_id)
        return 0;
    struct moment_block item = moment_blocks_make(process, block);
    return append(&peak->ended, &item, err);
}

bool moment_blocks_was_at_peak(const struct moment_blocks *blocks, uint32_t process,
                               uint64_t allocation_id)
{
    return allocation_id <= blocks->peaks[process].last_id;
}

const struct moment_block *moment_blocks_ended_since(const struct moment_blocks *blocks,
                                                     uint32_t process, size_t *ret_n)
{
    *ret_n = blocks->peaks[process].ended.n;
    return blocks->peaks[process].ended.items;
}

void moment_blocks_visit(struct moment_blocks *blocks, const struct statistics_room *room,
                         struct checkpoint_io *io)
{
    size_t n = blocks->n_processes;

    checkpoint_io_count(io, &n, blocks->n_processes);
    for (size_t id = 1; id <= n; id++) {
        struct peak *peak = &blocks->peaks[id];
        struct block_list *list = &peak->ended;
        checkpoint_io_u64(io, &peak->peak_ns);
        checkpoint_io_u64(io, &peak->last_id);
        list->items = checkpoint_io_array(io, list->items, &list->n, &list->capacity,
                                          CHECKPOINT_MAX, sizeof *list->items);
        for (size_t i = 0; i < list->n; i++) {
            checkpoint_io_check(io,
                                list->items[i].process == id && id <= room->n_processes
                                    && list->items[i].backtrace <= room->n_backtraces
                                    && list->items[i].address >> 48 == 0
                                    && list->items[i].size_bytes <= EVENT_MAX_BYTES
                                    && list->items[i].slack_bytes <= LIVE_BLOCK_SLACK_UNKNOWN,
                                "a block of the peak");
        }
    }
}
