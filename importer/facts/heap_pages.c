/* SPDX-License-Identifier: MIT */
#include "importer/facts/heap_pages.h"

#include <stdlib.h>

/* A page while blocks are added. */
struct page_cell {
    uint64_t example_id : 40;
    uint64_t live_blocks : 24;
    uint32_t live_bytes;
    uint32_t overhead_bytes;
    uint32_t owner_node;
    uint8_t common_frames;
};

/* Neighbours lie together: blocks of one moment fill most pages of a heap, and a page on its own
 * would need its address and a share of a hash table. */
struct heap_chunk {
    uint64_t base;
    uint64_t page_bytes;
    uint32_t heap;
    struct page_cell cells[HEAP_PAGES_CHUNK];
};

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
    for (size_t i = 0; pages->chunks && i < pages->n_slots; i++)
        free(pages->chunks[i]);
    free(pages->chunks);
    free(pages->pages);
    free(pages->states);
    *pages = (struct heap_pages){0};
}

static struct heap_chunk **find_slot(struct heap_chunk **chunks, size_t n_slots, uint32_t heap,
                                     uint64_t base)
{
    uint64_t hash = (base / 65536 + ((uint64_t)heap << 44)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (n_slots - 1);

    while (chunks[i] && (chunks[i]->heap != heap || chunks[i]->base != base))
        i = (i + 1) & (n_slots - 1);
    return &chunks[i];
}

static int grow(struct heap_pages *pages, struct error *err)
{
    size_t n_slots = pages->n_slots ? pages->n_slots * 2 : 64;
    struct heap_chunk **larger = calloc(n_slots, sizeof *larger);

    if (!larger)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu runs of heap pages", n_slots);
    for (size_t i = 0; i < pages->n_slots; i++) {
        struct heap_chunk *chunk = pages->chunks[i];
        if (chunk)
            *find_slot(larger, n_slots, chunk->heap, chunk->base) = chunk;
    }
    free(pages->chunks);
    pages->chunks = larger;
    pages->n_slots = n_slots;
    return 0;
}

static int chunk_new(struct heap_pages *pages, uint32_t heap, uint64_t base, uint64_t page_bytes,
                     struct heap_chunk **ret, struct error *err)
{
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        return error_set(err, ERROR_NOMEM, "out of memory for heap pages");
    (*ret)->base = base;
    (*ret)->page_bytes = page_bytes;
    (*ret)->heap = heap;
    pages->n_chunks++;
    return 0;
}

/* address: of the page. */
static int page_get(struct heap_pages *pages, uint32_t heap, uint64_t address, uint64_t page_bytes,
                    struct page_cell **ret, struct error *err)
{
    uint64_t base = address / (HEAP_PAGES_CHUNK * page_bytes) * (HEAP_PAGES_CHUNK * page_bytes);
    int code = 0;

    if (pages->n_chunks * 4 >= pages->n_slots * 3)
        code = grow(pages, err);
    if (code)
        return code;
    struct heap_chunk **chunk = find_slot(pages->chunks, pages->n_slots, heap, base);
    if (!*chunk)
        code = chunk_new(pages, heap, base, page_bytes, chunk, err);
    if (code == 0)
        *ret = &(*chunk)->cells[(address - base) / page_bytes];
    return code;
}

/* Innermost frames that the stack of another block leaves to those of the page. */
static uint32_t common_frames(const struct definitions_backtrace *stacks,
                              const struct page_cell *page, uint32_t other)
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

static void live_on_page(const struct heap_pages *pages, struct page_cell *page,
                         const struct allocation *allocation, uint64_t n_bytes)
{
    if (page->live_blocks++ == 0) {
        page->owner_node = allocation->node;
        page->common_frames = HEAP_PAGES_ONE_STACK;
        page->example_id = allocation->allocation_id & ((UINT64_C(1) << 40) - 1);
    } else if (page->owner_node != allocation->node && page->common_frames) {
        page->common_frames = (uint8_t)common_frames(pages->stacks, page, allocation->node);
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
        struct page_cell *page;
        int code = page_get(pages, heap, address, page_bytes, &page, err);
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
        struct page_cell *page;
        int code = page_get(pages, allocation->heap, address, page_bytes, &page, err);
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

static int compare_chunks(const void *left, const void *right)
{
    const struct heap_chunk *a = *(struct heap_chunk *const *)left;
    const struct heap_chunk *b = *(struct heap_chunk *const *)right;

    if (a->heap != b->heap)
        return a->heap < b->heap ? -1 : 1;
    return (a->base > b->base) - (a->base < b->base);
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

/* Moves the chunks to the front of their array, in order. */
static size_t sort_chunks(struct heap_pages *pages)
{
    size_t n_used = 0;
    size_t n = 0;

    for (size_t i = 0; i < pages->n_slots; i++) {
        struct heap_chunk *chunk = pages->chunks[i];
        pages->chunks[i] = NULL;
        if (chunk)
            pages->chunks[n++] = chunk;
    }
    if (n)
        qsort(pages->chunks, n, sizeof(struct heap_chunk *), compare_chunks);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < HEAP_PAGES_CHUNK; k++)
            n_used += pages->chunks[i]->cells[k].live_blocks > 0;
    return n_used;
}

static void take_chunk(struct heap_pages *pages, const struct heap_chunk *chunk,
                       struct heap_count *count)
{
    for (size_t k = 0; k < HEAP_PAGES_CHUNK; k++) {
        const struct page_cell *cell = &chunk->cells[k];
        if (cell->live_blocks == 0)
            continue;
        count->n_used++;
        count->overhead_in_used += cell->overhead_bytes;
        pages->states[chunk->heap]
            .pages_to[heap_parts_quarter(cell->live_bytes, chunk->page_bytes)]++;
        pages->pages[pages->n_pages++] = (struct heap_page){
            .address = chunk->base + k * chunk->page_bytes,
            .example_id = cell->example_id,
            .live_blocks = cell->live_blocks,
            .heap = chunk->heap,
            .live_bytes = cell->live_bytes,
            .owner_node = cell->owner_node,
            .common_frames = cell->common_frames,
        };
    }
}

int heap_pages_finish(struct heap_pages *pages, const uint64_t *moment_ns, struct error *err)
{
    size_t i = 0;

    for (uint32_t heap = 1; heap <= pages->n_heaps; heap++) {
        int code = add_start_overhead(pages, heap, err);
        if (code)
            return code;
    }
    pages->pages = malloc((sort_chunks(pages) + 1) * sizeof *pages->pages);
    if (!pages->pages)
        return error_set(err, ERROR_NOMEM, "out of memory for heap pages");
    for (uint32_t heap = 1; heap <= pages->n_heaps; heap++) {
        struct heap_count count = {.n_used = 0};
        for (; i < pages->n_chunks && pages->chunks[i]->heap == heap; i++) {
            take_chunk(pages, pages->chunks[i], &count);
            free(pages->chunks[i]);
            pages->chunks[i] = NULL;
        }
        make_parts(pages, heap, &count, moment_ns[heap_ranges_get(pages->ranges, heap)->process]);
    }
    return 0;
}
