/* SPDX-License-Identifier: MIT */
#include "lib/totals/heap_parts.h"

#include <stddef.h>

enum {
    MAX_OWN_BYTES = 64 * 1024, /* more than that before the first block is not malloc's own */
};

/* PA-1 for any events: reduces the least certain parts first. */
static void fit(struct heap_parts *parts, uint64_t used_bytes, uint64_t overhead_in_used)
{
    uint64_t claimed = parts->live_bytes + parts->slack_bytes + overhead_in_used;

    if (claimed <= used_bytes) {
        parts->hole_bytes = used_bytes - claimed;
        return;
    }
    uint64_t excess = claimed - used_bytes;
    uint64_t *cuts[] = {&parts->overhead_bytes, &parts->slack_bytes, &parts->live_bytes};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        uint64_t limit = i == 0 ? overhead_in_used : *cuts[i];
        uint64_t cut = excess < limit ? excess : limit;
        *cuts[i] -= cut;
        excess -= cut;
    }
}

/* Overhead precedes live blocks and the lowest block ever seen, so it is never in the top. */
struct heap_parts heap_parts_make(const struct heap_count *count)
{
    uint64_t page_bytes = count->page_bytes;
    uint64_t top = (count->topmost_end + page_bytes - 1) / page_bytes * page_bytes;
    uint64_t end = count->end;
    struct heap_parts parts = {.live_bytes = count->live_bytes,
                               .slack_bytes = count->slack_bytes,
                               .overhead_bytes = count->overhead_bytes};

    if (top < count->start)
        top = count->start;
    if (end < top)
        end = top;
    parts.extent_bytes = end - count->start;
    parts.top_bytes = end - top;
    parts.free_page_bytes = top - count->start - count->n_used * page_bytes
                            - (count->overhead_bytes - count->overhead_in_used);
    fit(&parts, count->n_used * page_bytes, count->overhead_in_used);
    return parts;
}

uint64_t heap_parts_own_end(uint32_t header_bytes, uint64_t start, uint64_t lowest_block)
{
    uint64_t end = lowest_block - header_bytes;

    return header_bytes && end > start && end - start <= MAX_OWN_BYTES ? end : start;
}

uint64_t heap_parts_page_bytes(int64_t page_bytes)
{
    bool is_power_of_two = (page_bytes & (page_bytes - 1)) == 0;

    return is_power_of_two && page_bytes >= 4096 && page_bytes <= 1 << 20 ? (uint64_t)page_bytes
                                                                          : 4096;
}

unsigned heap_parts_quarter(uint64_t live_bytes, uint64_t page_bytes)
{
    if (live_bytes >= page_bytes)
        live_bytes = page_bytes - 1;
    return (unsigned)(HEAP_PARTS_QUARTERS * live_bytes / page_bytes);
}
