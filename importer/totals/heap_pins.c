/* SPDX-License-Identifier: MIT */
#include "importer/totals/heap_pins.h"

#include <stdbool.h>
#include <stdlib.h>

/* Pages to be sorted. */
struct owned_page {
    uint32_t process;
    uint32_t node;
    uint32_t common_frames; /* as in a pin */
    uint32_t heap;
    uint64_t page_live_bytes; /* of each of them */
    uint64_t n_pages;
    uint64_t address;
    uint64_t example_id;
};

static int compare(const void *left, const void *right)
{
    const struct owned_page *a = left;
    const struct owned_page *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->common_frames != b->common_frames)
        return a->common_frames < b->common_frames ? -1 : 1;
    if (a->page_live_bytes != b->page_live_bytes)
        return a->page_live_bytes < b->page_live_bytes ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

static size_t collect(const struct heap_pages *pages, struct owned_page *owned)
{
    size_t n = 0;

    for (size_t i = 0; i < pages->n_pages; i++) {
        const struct heap_page *page = &pages->pages[i];
        if (page->common_frames == 0 || heap_ranges_get(pages->ranges, page->heap)->unseen)
            continue;
        owned[n++] = (struct owned_page){
            .process = heap_ranges_get(pages->ranges, page->heap)->process,
            .node = page->owner_node,
            .common_frames = page->common_frames == HEAP_PAGES_ONE_STACK ? 0 : page->common_frames,
            .heap = page->heap,
            .page_live_bytes = page->live_bytes / page->n_pages,
            .n_pages = page->n_pages,
            .address = page->address,
            .example_id = page->example_id};
    }
    if (n)
        qsort(owned, n, sizeof *owned, compare);
    return n;
}

static size_t sum_up(const struct owned_page *owned, size_t n_owned, struct heap_pin *pins)
{
    size_t n = 0;

    for (size_t i = 0; i < n_owned; i++) {
        bool is_new = i == 0 || owned[i].process != owned[i - 1].process
                      || owned[i].node != owned[i - 1].node
                      || owned[i].common_frames != owned[i - 1].common_frames;
        if (is_new)
            pins[n++] = (struct heap_pin){.node = owned[i].node,
                                          .common_frames = owned[i].common_frames,
                                          .heap = owned[i].heap,
                                          .emptiest_bytes = owned[i].page_live_bytes,
                                          .example_id = owned[i].example_id};
        pins[n - 1].n_pages += owned[i].n_pages;
        pins[n - 1].live_bytes += owned[i].n_pages * owned[i].page_live_bytes;
    }
    return n;
}

int heap_pins_make(const struct heap_pages *pages, struct heap_pin **ret, size_t *ret_n,
                   struct error *err)
{
    struct owned_page *owned = malloc((pages->n_pages + 1) * sizeof *owned);
    size_t n_owned = owned ? collect(pages, owned) : 0;

    *ret_n = 0;
    *ret = owned ? calloc(n_owned + 1, sizeof **ret) : NULL;
    if (*ret)
        *ret_n = sum_up(owned, n_owned, *ret);
    free(owned);
    return *ret ? 0 : error_set(err, ERROR_NOMEM, "out of memory for %zu heap pages", n_owned);
}
