/* SPDX-License-Identifier: MIT */
#include "recorder/image/pointer_filter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int pointer_filter_init(struct pointer_filter *filter, const struct image_range *ranges,
                        size_t n_ranges)
{
    *filter = (struct pointer_filter){.spans = calloc(n_ranges + 1, sizeof(*filter->spans))};
    if (!filter->spans)
        return ENOMEM;
    for (size_t i = 0; i < n_ranges; i++) {
        struct pointer_span *last = filter->n_spans ? &filter->spans[filter->n_spans - 1] : NULL;
        if (last && last->end == ranges[i].start)
            last->end = ranges[i].end;
        else
            filter->spans[filter->n_spans++] =
                (struct pointer_span){ranges[i].start, ranges[i].end};
    }
    return 0;
}

static bool is_pointer(struct pointer_filter *filter, uint64_t word)
{
    const struct pointer_span *spans = filter->spans;
    size_t low = 0;
    size_t high = filter->n_spans;

    if (word >= spans[filter->hint].start && word <= spans[filter->hint].end)
        return true;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (spans[middle].start <= word)
            low = middle + 1;
        else
            high = middle;
    }
    filter->hint = low - 1;
    return word <= spans[low - 1].end;
}

size_t pointer_filter_page(struct pointer_filter *filter, uint64_t address, const uint64_t *words,
                           uint8_t *ret_bytes)
{
    const uint64_t lowest = filter->spans[0].start;
    const uint64_t distance = filter->n_spans ? filter->spans[filter->n_spans - 1].end - lowest : 0;
    struct image_page page = {.address = address};
    uint8_t *to = ret_bytes + sizeof(page);

    if (filter->n_spans == 0)
        return 0;
    for (size_t i = 0; i < IMAGE_PAGE_WORDS; i++) {
        if (words[i] - lowest > distance || !is_pointer(filter, words[i]))
            continue;
        page.mask[i / 64] |= UINT64_C(1) << i % 64;
        memcpy(to, &words[i], sizeof(words[i]));
        to += sizeof(words[i]);
    }
    memcpy(ret_bytes, &page, sizeof(page));
    return to == ret_bytes + sizeof(page) ? 0 : (size_t)(to - ret_bytes);
}

void pointer_filter_done(struct pointer_filter *filter)
{
    free(filter->spans);
    *filter = (struct pointer_filter){.n_spans = 0};
}
