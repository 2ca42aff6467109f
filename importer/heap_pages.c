/* SPDX-License-Identifier: MIT */
#include "importer/heap_pages.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_COMMON_FRAMES = 254
};

int heap_pages_init(struct heap_pages *pages, struct heap_ranges *ranges,
                    const uint32_t *page_bytes, const struct definitions_backtrace *stacks,
                    struct error *err)
{
    *pages = (struct heap_pages){
        .ranges = ranges,
        .n_heaps = heap_ranges_count(ranges),
        .page_bytes = page_bytes,
        .stacks = stacks,
    };
    pages->states = calloc(pages->n_heaps + 1, sizeof *pages->states);
    return pages->states ? 0 : error_set(err, ERROR_NOMEM, "out of memory for heap pages");
}

void heap_pages_done(struct heap_pages *pages)
{
    free(pages->pages);
    free(pages->states);
    *pages = (struct heap_pages){0};
}

static struct heap_page *find_slot(struct heap_page *pages, size_t n_slots, uint32_t heap,
                                   uint64_t address)
{
    uint64_t hash = (address / 1024 + ((uint64_t)heap << 44)) * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = (size_t)(hash >> 32) & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        struct heap_page *page = &pages[i];
        if (page->heap == 0 || (page->heap == heap && page->address == address))
            return page;
    }
}

static int grow(struct heap_pages *pages, struct error *err)
{
    size_t n_slots = pages->n_slots ? pages->n_slots * 2 : 1024;
    struct heap_page *larger = calloc(n_slots, sizeof *larger);

    if (!larger)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu heap pages", n_slots);
    for (size_t i = 0; i < pages->n_slots; i++) {
        const struct heap_page *page = &pages->pages[i];
        if (page->heap)
            *find_slot(larger, n_slots, page->heap, page->address) = *page;
    }
    free(pages->pages);
    pages->pages = larger;
    pages->n_slots = n_slots;
    return 0;
}

static int page_get(struct heap_pages *pages, uint32_t heap, uint64_t address,
                    struct heap_page **ret, struct error *err)
{
    if (pages->n_pages * 4 >= pages->n_slots * 3) {
        int code = grow(pages, err);
        if (code)
            return code;
    }
    *ret = find_slot(pages->pages, pages->n_slots, heap, address);
    if ((*ret)->heap == 0) {
        (*ret)->heap = heap;
        (*ret)->address = address;
        pages->n_pages++;
    }
    return 0;
}

/* Innermost frames that the stack of another block leaves to those of the page. */
static uint32_t common_frames(const struct definitions_backtrace *stacks,
                              const struct heap_page *page, uint32_t other)
{
    uint32_t node = page->owner_node;
    uint32_t most =
        page->common_frames < MAX_COMMON_FRAMES ? page->common_frames : MAX_COMMON_FRAMES;
    uint32_t n = 0;

    if (!stacks)
        return 0;
    for (; n < most && node && other && stacks[node].frame == stacks[other].frame; n++) {
        node = stacks[node].parent;
        other = stacks[other].parent;
    }
    return n;
}

static void live_on_page(const struct heap_pages *pages, struct heap_page *page,
                         const struct allocation *allocation, uint64_t n_bytes)
{
    if (page->live_blocks++ == 0) {
        page->owner_node = allocation->node;
        page->common_frames = HEAP_PAGES_ONE_STACK;
        page->example_id = allocation->allocation_id;
    } else if (page->owner_node != allocation->node && page->common_frames) {
        page->common_frames = common_frames(pages->stacks, page, allocation->node);
    }
    page->live_bytes += (uint32_t)n_bytes;
}

static int add_overhead(struct heap_pages *pages, uint32_t heap, uint64_t start, uint64_t end,
                        uint64_t page_bytes, struct error *err)
{
    pages->states[heap].parts.overhead_bytes += end - start;
    for (uint64_t at = start; at < end;) {
        uint64_t address = at / page_bytes * page_bytes;
        uint64_t upto = address + page_bytes < end ? address + page_bytes : end;
        struct heap_page *page;
        int code = page_get(pages, heap, address, &page, err);
        if (code)
            return code;
        page->overhead_bytes += (uint32_t)(upto - at);
        at = upto;
    }
    return 0;
}

static void note_state(struct heap_state *state, const struct allocation *allocation,
                       uint64_t usable_bytes)
{
    uint64_t end = allocation->address + usable_bytes;

    state->parts.live_bytes += allocation->size_bytes;
    state->parts.slack_bytes += usable_bytes - allocation->size_bytes;
    if (end > state->topmost_end) {
        state->topmost_end = end;
        state->topmost_id = allocation->allocation_id;
        state->topmost_node = allocation->node;
    }
}

int heap_pages_add(struct heap_pages *pages, const struct allocation *allocation, struct error *err)
{
    if (allocation->heap == 0)
        return 0;
    const struct heap_range *range = heap_ranges_get(pages->ranges, allocation->heap);
    uint64_t page_bytes = pages->page_bytes[range->process];
    uint64_t usable = allocation->size_bytes;

    if (allocation->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        usable += allocation->slack_bytes;
    uint64_t end = allocation->address + usable;
    note_state(&pages->states[allocation->heap], allocation, usable);
    for (uint64_t at = allocation->address; at < end;) {
        uint64_t address = at / page_bytes * page_bytes;
        uint64_t upto = address + page_bytes < end ? address + page_bytes : end;
        struct heap_page *page;
        int code = page_get(pages, allocation->heap, address, &page, err);
        if (code)
            return code;
        live_on_page(pages, page, allocation, upto - at);
        at = upto;
    }
    if (!range->is_glibc || allocation->address < range->start + HEAP_PARTS_HEADER_BYTES)
        return 0;
    return add_overhead(pages, allocation->heap, allocation->address - HEAP_PARTS_HEADER_BYTES,
                        allocation->address, page_bytes, err);
}

/* ---- the six parts ---- */

static int compare_pages(const void *left, const void *right)
{
    const struct heap_page *a = left, *b = right;

    if (a->heap != b->heap)
        return a->heap < b->heap ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

/* malloc's own structures in front of the lowest chunk. */
static int add_start_overhead(struct heap_pages *pages, uint32_t heap, struct error *err)
{
    const struct heap_range *range = heap_ranges_get(pages->ranges, heap);

    if (pages->states[heap].topmost_end == 0)
        return 0;
    return add_overhead(pages, heap, range->start,
                        heap_parts_own_end(range->is_glibc, range->start, range->lowest_block),
                        pages->page_bytes[range->process], err);
}

static void make_parts(struct heap_pages *pages, uint32_t heap, struct heap_count *count,
                       uint64_t moment_ns)
{
    const struct heap_range *range = heap_ranges_get(pages->ranges, heap);
    struct heap_state *state = &pages->states[heap];

    count->start = range->start;
    count->end = heap_ranges_end_at(pages->ranges, heap, moment_ns);
    count->topmost_end = state->topmost_end;
    count->live_bytes = state->parts.live_bytes;
    count->slack_bytes = state->parts.slack_bytes;
    count->overhead_bytes = state->parts.overhead_bytes;
    count->page_bytes = pages->page_bytes[range->process];
    state->parts = heap_parts_make(count);
}

int heap_pages_finish(struct heap_pages *pages, const uint64_t *moment_ns, struct error *err)
{
    size_t n = 0, n_all = 0;

    for (uint32_t heap = 1; heap <= pages->n_heaps; heap++) {
        int code = add_start_overhead(pages, heap, err);
        if (code)
            return code;
    }
    for (size_t i = 0; i < pages->n_slots; i++) {
        if (pages->pages[i].heap)
            pages->pages[n_all++] = pages->pages[i];
    }
    if (n_all)
        qsort(pages->pages, n_all, sizeof *pages->pages, compare_pages);
    size_t i = 0;
    for (uint32_t heap = 1; heap <= pages->n_heaps; heap++) {
        uint32_t process = heap_ranges_get(pages->ranges, heap)->process;
        struct heap_count count = {.n_used = 0};
        for (; i < n_all && pages->pages[i].heap == heap; i++) {
            if (pages->pages[i].live_blocks == 0)
                continue;
            count.n_used++;
            count.overhead_in_used += pages->pages[i].overhead_bytes;
            pages->states[heap].pages_to[heap_parts_quarter(pages->pages[i].live_bytes,
                                                            pages->page_bytes[process])]++;
            pages->pages[n++] = pages->pages[i];
        }
        make_parts(pages, heap, &count, moment_ns[process]);
    }
    pages->n_pages = n;
    return 0;
}
