/* SPDX-License-Identifier: MIT */
#include "importer/totals/heap_pages.h"

#include "lib/abi/attr.h"
#include "lib/base/dynamic_array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A page while blocks are added. */
struct page_cell {
    uint64_t example_id : 46;
    uint64_t live_blocks : 18; /* enough for 8-byte blocks on a 1 MiB page */
    uint32_t live_bytes;
    uint32_t overhead_bytes;
    uint32_t owner_backtrace;
    uint8_t common_frames;
};

enum {
    WORD_BITS = 64,
    CHUNK_WORDS = HEAP_PAGES_CHUNK / WORD_BITS,
    MAX_CLOSE = HEAP_PAGES_CHUNK / 2
};

/* Groups neighbouring pages: blocks of one moment fill most pages of a heap, and a single page
 * would need its address and a share of a hash table. Cells are created on first use, so a distant
 * block costs only its own page. */
struct heap_chunk {
    uint64_t base; /* these three are the key */
    uint32_t heap;
    uint32_t page_bytes;
    uint64_t has[CHUNK_WORDS]; /* pages that have a cell */
    /* Up to MAX_CLOSE cells: sorted by page, capacity a power of two. More: cells[k] is page k,
     * which needs no more memory. */
    struct page_cell *cells;
    uint64_t n_cells;
};

/* Pages that one block fills. */
struct heap_run {
    uint64_t address, end;
    uint64_t example_id;
    uint32_t heap;
    uint32_t owner_backtrace;
};

enum {
    CHUNK_KEY_BYTES = offsetof(struct heap_chunk, has),
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
    struct heap_chunk *chunks = pages->chunks.elements;

    for (size_t i = 0; i < pages->chunks.n; i++)
        free(chunks[i].cells);
    hash_map_done(&pages->chunks);
    free(pages->runs);
    free(pages->pages);
    free(pages->states);
    *pages = (struct heap_pages){0};
}

/* Number of pages before page k that have a cell. */
static size_t cells_before(const struct heap_chunk *chunk, size_t k)
{
    size_t n = 0;

    for (size_t i = 0; i < k / WORD_BITS; i++)
        n += (size_t)__builtin_popcountll(chunk->has[i]);
    if (k % WORD_BITS)
        n += (size_t)__builtin_popcountll(chunk->has[k / WORD_BITS]
                                          & ((UINT64_C(1) << k % WORD_BITS) - 1));
    return n;
}

static bool has_cell(const struct heap_chunk *chunk, size_t k)
{
    return chunk->has[k / WORD_BITS] >> k % WORD_BITS & 1;
}

static bool is_spread(const struct heap_chunk *chunk)
{
    return chunk->n_cells > MAX_CLOSE;
}

static size_t n_places(const struct heap_chunk *chunk)
{
    return is_spread(chunk) ? HEAP_PAGES_CHUNK : chunk->n_cells;
}

static bool spread(struct heap_chunk *chunk)
{
    struct page_cell *cells = calloc(HEAP_PAGES_CHUNK, sizeof *cells);
    const struct page_cell *next = chunk->cells;

    for (size_t k = 0; cells && k < HEAP_PAGES_CHUNK; k++)
        if (has_cell(chunk, k))
            cells[k] = *next++;
    if (cells) {
        free(chunk->cells);
        chunk->cells = cells;
    }
    return cells != NULL;
}

static bool add_close(struct heap_chunk *chunk, size_t k)
{
    size_t n = chunk->n_cells;
    size_t at = cells_before(chunk, k);

    if ((n & (n - 1)) == 0) { /* it is full */
        struct page_cell *cells = realloc(chunk->cells, (n ? 2 * n : 1) * sizeof *cells);
        if (!cells)
            return false;
        chunk->cells = cells;
    }
    memmove(&chunk->cells[at + 1], &chunk->cells[at], (n - at) * sizeof *chunk->cells);
    chunk->cells[at] = (struct page_cell){0};
    return true;
}

static MTRACE_NOINLINE bool add_cell(struct heap_chunk *chunk, size_t k)
{
    if (chunk->n_cells < MAX_CLOSE ? !add_close(chunk, k)
                                   : chunk->n_cells == MAX_CLOSE && !spread(chunk))
        return false;
    chunk->has[k / WORD_BITS] |= UINT64_C(1) << k % WORD_BITS;
    chunk->n_cells++;
    return true;
}

/* The cell of page k; NULL: no memory. */
static struct page_cell *cell_get(struct heap_chunk *chunk, size_t k)
{
    if (!has_cell(chunk, k) && !add_cell(chunk, k))
        return NULL;
    return &chunk->cells[is_spread(chunk) ? k : cells_before(chunk, k)];
}

/* `bytes` is a power of two. */
static uint64_t floor_to(uint64_t address, uint64_t bytes)
{
    return address & ~(bytes - 1);
}

static int find_page(struct heap_pages *pages, uint32_t heap, uint64_t address, uint64_t page_bytes,
                     struct error *err)
{
    const struct heap_chunk key = {
        .base = floor_to(address, HEAP_PAGES_CHUNK * page_bytes),
        .heap = heap,
        .page_bytes = (uint32_t)page_bytes,
    };
    struct heap_chunk *chunk = hash_map_get(&pages->chunks, &key, CHUNK_KEY_BYTES, sizeof *chunk);
    struct page_cell *cell =
        chunk ? cell_get(chunk, (address - key.base) >> __builtin_ctzll(page_bytes)) : NULL;

    pages->last = (struct heap_page_found){.cell = cell, .address = address, .heap = heap};
    return cell ? 0
                : error_set(err, ERROR_NOMEM, "out of memory for %zu runs of heap pages",
                            pages->chunks.n);
}

/* address: of the page. Successive calls are mostly about neighbours. */
static inline int page_get(struct heap_pages *pages, uint32_t heap, uint64_t address,
                           uint64_t page_bytes, struct page_cell **ret, struct error *err)
{
    int code = pages->last.cell && pages->last.address == address && pages->last.heap == heap
                   ? 0
                   : find_page(pages, heap, address, page_bytes, err);

    *ret = pages->last.cell;
    return code;
}

/* Number of innermost frames that the page's stacks still share if `other` is added. */
static uint32_t common_frames(const struct definitions_backtrace *stacks,
                              const struct page_cell *page, uint32_t other)
{
    uint32_t backtrace = page->owner_backtrace;
    uint32_t most =
        page->common_frames < MAX_COMMON_FRAMES ? page->common_frames : MAX_COMMON_FRAMES;
    uint32_t n = 0;

    if (!stacks)
        return 0;
    for (; n < most && backtrace && other && stacks[backtrace].frame == stacks[other].frame; n++) {
        backtrace = stacks[backtrace].parent;
        other = stacks[other].parent;
    }
    return n;
}

static void live_on_page(const struct heap_pages *pages, struct page_cell *page,
                         const struct allocation *allocation, uint64_t n_bytes)
{
    if (page->live_blocks++ == 0) {
        page->owner_backtrace = allocation->backtrace;
        page->common_frames = HEAP_PAGES_ONE_STACK;
        page->example_id = allocation->allocation_id & LIVE_BLOCK_MAX_ID;
    } else {
        if (page->owner_backtrace != allocation->backtrace && page->common_frames)
            page->common_frames =
                (uint8_t)common_frames(pages->stacks, page, allocation->backtrace);
        if (allocation->allocation_id < page->example_id) {
            page->owner_backtrace = allocation->backtrace;
            page->example_id = allocation->allocation_id & LIVE_BLOCK_MAX_ID;
        }
    }
    page->live_bytes += (uint32_t)n_bytes;
}

static int add_overhead(struct heap_pages *pages, uint32_t heap, uint64_t start, uint64_t end,
                        uint64_t page_bytes, struct error *err)
{
    pages->states[heap].parts.overhead_bytes += end - start;
    for (uint64_t at = start; at < end;) {
        uint64_t address = floor_to(at, page_bytes);
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
    if (end > state->topmost_end
        || (end == state->topmost_end && allocation->allocation_id < state->topmost_id)) {
        state->topmost_end = end;
        state->topmost_id = allocation->allocation_id;
        state->topmost_backtrace = allocation->backtrace;
    }
}

/* Adds the bytes [start, end) of a block, which are on one page. */
static int add_piece(struct heap_pages *pages, const struct allocation *allocation, uint64_t start,
                     uint64_t end, uint64_t page_bytes, struct error *err)
{
    struct page_cell *page;

    if (start >= end)
        return 0;
    int code =
        page_get(pages, allocation->heap, floor_to(start, page_bytes), page_bytes, &page, err);
    if (code == 0)
        live_on_page(pages, page, allocation, end - start);
    return code;
}

static int add_run(struct heap_pages *pages, const struct allocation *allocation, uint64_t start,
                   uint64_t end, struct error *err)
{
    struct heap_run *runs =
        dynamic_array_reserve(pages->runs, &pages->max_runs, pages->n_runs + 1, sizeof *runs);

    if (!runs)
        return error_set(err, ERROR_NOMEM, "out of memory for heap pages");
    pages->runs = runs;
    runs[pages->n_runs++] = (struct heap_run){.address = start,
                                              .end = end,
                                              .example_id = allocation->allocation_id,
                                              .heap = allocation->heap,
                                              .owner_backtrace = allocation->backtrace};
    return 0;
}

/* Whole pages of the block become a run; the rest before and after is on pages that it may
 * share. */
static int add_block(struct heap_pages *pages, const struct allocation *allocation, uint64_t end,
                     uint64_t page_bytes, struct error *err)
{
    uint64_t start = allocation->address;
    uint64_t first = floor_to(start + page_bytes - 1, page_bytes);
    uint64_t last = floor_to(end, page_bytes);

    if (first > last) /* within one page */
        return add_piece(pages, allocation, start, end, page_bytes, err);
    int code = add_piece(pages, allocation, start, first, page_bytes, err);
    if (code == 0 && first < last)
        code = add_run(pages, allocation, first, last, err);
    return code ? code : add_piece(pages, allocation, last, end, page_bytes, err);
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
    note_state(&pages->states[allocation->heap], allocation, usable);
    int code = add_block(pages, allocation, allocation->address + usable, page_bytes, err);
    if (code || !range->header_bytes || allocation->address < range->start + range->header_bytes)
        return code;
    return add_overhead(pages, allocation->heap, allocation->address - range->header_bytes,
                        allocation->address, page_bytes, err);
}

/* ---- what two moments share ---- */

static bool copy_chunk(struct heap_pages *to, const struct heap_chunk *from)
{
    struct heap_chunk *chunk = hash_map_add(&to->chunks, from, CHUNK_KEY_BYTES, sizeof *chunk);
    size_t capacity = 1;

    if (!chunk)
        return false;
    while (capacity < n_places(from)) /* as add_close wants it */
        capacity *= 2;
    chunk->cells = malloc(capacity * sizeof *chunk->cells);
    if (!chunk->cells)
        return false;
    if (from->n_cells)
        memcpy(chunk->cells, from->cells, n_places(from) * sizeof *chunk->cells);
    memcpy(chunk->has, from->has, sizeof chunk->has);
    chunk->n_cells = from->n_cells;
    return true;
}

static bool copy_runs(struct heap_pages *to, const struct heap_pages *from)
{
    struct heap_run *runs =
        dynamic_array_reserve(to->runs, &to->max_runs, from->n_runs + 1, sizeof *runs);

    if (!runs)
        return false;
    to->runs = runs;
    if (from->n_runs)
        memcpy(runs, from->runs, from->n_runs * sizeof *runs);
    to->n_runs = from->n_runs;
    return true;
}

int heap_pages_copy(struct heap_pages *to, const struct heap_pages *from, struct error *err)
{
    const struct heap_chunk *chunks = from->chunks.elements;
    bool has_memory = copy_runs(to, from);

    for (size_t i = 0; has_memory && i < from->chunks.n; i++)
        has_memory = copy_chunk(to, &chunks[i]);
    if (!has_memory)
        return error_set(err, ERROR_NOMEM, "out of memory for heap pages");
    memcpy(to->states, from->states, (from->n_heaps + 1) * sizeof *to->states);
    return 0;
}

/* ---- the six parts ---- */

static int compare_chunks(const void *left, const void *right)
{
    const struct heap_chunk *a = left;
    const struct heap_chunk *b = right;

    if (a->heap != b->heap)
        return a->heap < b->heap ? -1 : 1;
    return (a->base > b->base) - (a->base < b->base);
}

/* malloc's own data before the lowest chunk. */
static int add_start_overhead(struct heap_pages *pages, uint32_t heap, struct error *err)
{
    const struct heap_range *range = heap_ranges_get(pages->ranges, heap);

    if (pages->states[heap].topmost_end == 0)
        return 0;
    return add_overhead(pages, heap, range->start,
                        heap_parts_own_end(range->header_bytes, range->start, range->lowest_block),
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

/* Sorts the chunks and returns their number of used pages. */
static size_t sort_chunks(struct heap_pages *pages)
{
    struct heap_chunk *chunks = pages->chunks.elements;
    size_t n_used = 0;

    if (pages->chunks.n)
        qsort(chunks, pages->chunks.n, sizeof *chunks, compare_chunks);
    for (size_t i = 0; i < pages->chunks.n; i++)
        for (size_t k = n_places(&chunks[i]); k-- > 0;)
            n_used += chunks[i].cells[k].live_blocks > 0;
    return n_used;
}

static int compare_runs(const void *left, const void *right)
{
    const struct heap_run *a = left;
    const struct heap_run *b = right;

    if (a->heap != b->heap)
        return a->heap < b->heap ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->example_id > b->example_id) - (a->example_id < b->example_id);
}

/* State of the walk over the pages of one heap. */
struct walk {
    struct heap_pages *pages;
    struct heap_count *count;
    uint32_t heap;
    uint64_t page_bytes;
    size_t next_run;
    uint64_t covered_end; /* end of the runs so far */
};

static void put_page(struct walk *walk, const struct heap_page *page)
{
    walk->count->n_used += page->n_pages;
    walk->pages->states[walk->heap]
        .pages_to[heap_parts_quarter(page->live_bytes / page->n_pages, walk->page_bytes)] +=
        page->n_pages;
    walk->pages->pages[walk->pages->n_pages++] = *page;
}

/* Emits the runs of the heap that begin at or below `address`. */
static void put_runs(struct walk *walk, uint64_t address)
{
    for (; walk->next_run < walk->pages->n_runs; walk->next_run++) {
        const struct heap_run *run = &walk->pages->runs[walk->next_run];
        uint64_t start = run->address > walk->covered_end ? run->address : walk->covered_end;
        if (run->heap != walk->heap || run->address > address)
            return;
        if (start >= run->end)
            continue;
        put_page(walk, &(struct heap_page){.address = start,
                                           .example_id = run->example_id & LIVE_BLOCK_MAX_ID,
                                           .live_blocks = 1,
                                           .n_pages = (run->end - start) / walk->page_bytes,
                                           .live_bytes = run->end - start,
                                           .heap = run->heap,
                                           .owner_backtrace = run->owner_backtrace,
                                           .common_frames = HEAP_PAGES_ONE_STACK});
        walk->covered_end = run->end;
    }
}

static void put_chunk(struct walk *walk, const struct heap_chunk *chunk)
{
    const struct page_cell *next = chunk->cells;

    for (size_t k = 0; k < HEAP_PAGES_CHUNK; k++) {
        if (!has_cell(chunk, k))
            continue;
        const struct page_cell *cell = is_spread(chunk) ? &chunk->cells[k] : next++;
        uint64_t address = chunk->base + k * chunk->page_bytes;
        put_runs(walk, address);
        if (cell->live_blocks > 0 || address < walk->covered_end)
            walk->count->overhead_in_used += cell->overhead_bytes;
        if (cell->live_blocks == 0 || address < walk->covered_end)
            continue;
        put_page(walk, &(struct heap_page){.address = address,
                                           .example_id = cell->example_id,
                                           .live_blocks = cell->live_blocks,
                                           .n_pages = 1,
                                           .live_bytes = cell->live_bytes,
                                           .heap = chunk->heap,
                                           .owner_backtrace = cell->owner_backtrace,
                                           .common_frames = cell->common_frames});
    }
}

int heap_pages_finish(struct heap_pages *pages, const uint64_t *moment_ns, struct error *err)
{
    struct walk walk = {.pages = pages};
    size_t i = 0;

    for (uint32_t heap = 1; heap <= pages->n_heaps; heap++) {
        int code = add_start_overhead(pages, heap, err);
        if (code)
            return code;
    }
    if (pages->n_runs)
        qsort(pages->runs, pages->n_runs, sizeof *pages->runs, compare_runs);
    pages->pages = malloc((sort_chunks(pages) + pages->n_runs + 1) * sizeof *pages->pages);
    if (!pages->pages)
        return error_set(err, ERROR_NOMEM, "out of memory for heap pages");
    struct heap_chunk *chunks = pages->chunks.elements;
    for (uint32_t heap = 1; heap <= pages->n_heaps; heap++) {
        uint32_t process = heap_ranges_get(pages->ranges, heap)->process;
        struct heap_count count = {.n_used = 0};
        walk.count = &count;
        walk.heap = heap;
        walk.page_bytes = pages->page_bytes[process];
        walk.covered_end = 0;
        for (; i < pages->chunks.n && chunks[i].heap == heap; i++) {
            put_chunk(&walk, &chunks[i]);
            free(chunks[i].cells);
            chunks[i].cells = NULL;
        }
        put_runs(&walk, UINT64_MAX);
        make_parts(pages, heap, &count, moment_ns[process]);
    }
    free(pages->runs);
    pages->runs = NULL;
    return 0;
}

/* ---- pins ---- */

/* Pages to be sorted. */
struct owned_page {
    uint32_t process;
    uint32_t backtrace;
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
    if (a->backtrace != b->backtrace)
        return a->backtrace < b->backtrace ? -1 : 1;
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
            .backtrace = page->owner_backtrace,
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
                      || owned[i].backtrace != owned[i - 1].backtrace
                      || owned[i].common_frames != owned[i - 1].common_frames;
        if (is_new)
            pins[n++] = (struct heap_pin){.backtrace = owned[i].backtrace,
                                          .common_frames = owned[i].common_frames,
                                          .heap = owned[i].heap,
                                          .emptiest_bytes = owned[i].page_live_bytes,
                                          .example_id = owned[i].example_id};
        pins[n - 1].n_pages += owned[i].n_pages;
        pins[n - 1].live_bytes += owned[i].n_pages * owned[i].page_live_bytes;
    }
    return n;
}

int heap_pages_make_pins(const struct heap_pages *pages, struct heap_pin **ret, size_t *ret_n,
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
