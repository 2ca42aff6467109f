/* SPDX-License-Identifier: MIT */
#include "queries/heap/heap_scan.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the import counts and takes them. */
#define MAX_BLOCK_BYTES (UINT64_C(4) << 30)

enum {
    MAX_COMMON_FRAMES = 254
};

struct block {
    int64_t heap_id;
    uint64_t address, size_bytes, usable_bytes;
    int64_t allocation_id, backtrace_id;
};

/* The pages that later blocks may still touch: n of them from `first`. */
struct window {
    struct heap_scan_page *pages;
    uint64_t first;
    size_t n, capacity;
};

/* The stack tree by id. */
struct tree {
    struct tree_node {
        uint32_t parent; /* 0: a root */
        uint32_t frame;
    } * nodes;

    size_t n; /* highest id + 1 */
};

struct scan {
    const struct rundb *database;
    struct tree tree;
    const struct heap_scan_sink *sink;
    const struct heap_scan_heap *heap;
    struct heap_count count;
    struct heap_scan_state state;
    struct window window;
    uint64_t end_so_far; /* of the chunks and of malloc's own structures */
};

/* ---- pages ---- */

static int put_page(struct scan *scan, const struct heap_scan_page *page, struct error *err)
{
    if (page->live_blocks == 0)
        return 0;
    scan->count.n_used++;
    scan->count.overhead_in_used += page->overhead_bytes;
    scan->state.pages_to[heap_parts_quarter(page->live_bytes, scan->heap->page_bytes)]++;
    return scan->sink->page ? scan->sink->page(scan->sink->to, scan->heap, page, err) : 0;
}

/* No later block lies below `address`. */
static int pass(struct scan *scan, uint64_t address, struct error *err)
{
    struct window *window = &scan->window;
    uint64_t page_bytes = scan->heap->page_bytes;
    uint64_t first = address / page_bytes * page_bytes;
    size_t n_passed = 0;
    int rc = 0;

    while (rc == 0 && n_passed < window->n && window->first + n_passed * page_bytes < first)
        rc = put_page(scan, &window->pages[n_passed++], err);
    window->n -= n_passed;
    if (window->n && n_passed)
        memmove(window->pages, window->pages + n_passed, window->n * sizeof(*window->pages));
    if (first > window->first)
        window->first = first;
    return rc;
}

/* The page of an address at or above the window's first; NULL: no memory. */
static struct heap_scan_page *get_page(struct scan *scan, uint64_t address)
{
    struct window *window = &scan->window;
    uint64_t page_bytes = scan->heap->page_bytes;
    size_t index = (size_t)((address - window->first) / page_bytes);
    struct heap_scan_page *pages =
        dynamic_array_reserve(window->pages, &window->capacity, index + 1, sizeof(*pages));

    if (!pages)
        return NULL;
    window->pages = pages;
    for (; window->n <= index; window->n++)
        pages[window->n] =
            (struct heap_scan_page){.address = window->first + window->n * page_bytes};
    return &pages[index];
}

/* Innermost frames that two stacks share. */
static int64_t common_frames(const struct tree *tree, int64_t a, int64_t b, int64_t most)
{
    int64_t n = 0;

    if (most > MAX_COMMON_FRAMES)
        most = MAX_COMMON_FRAMES;
    while (n < most && a > 0 && b > 0 && (uint64_t)a < tree->n && (uint64_t)b < tree->n
           && tree->nodes[a].frame == tree->nodes[b].frame) {
        a = tree->nodes[a].parent;
        b = tree->nodes[b].parent;
        n++;
    }
    return n;
}

static void add_live(const struct scan *scan, struct heap_scan_page *page,
                     const struct block *block, uint64_t bytes)
{
    if (page->live_blocks++ == 0) {
        page->owner_backtrace_id = block->backtrace_id;
        page->common_frames = HEAP_SCAN_ONE_STACK;
        page->example_allocation_id = block->allocation_id;
    } else if (page->owner_backtrace_id != block->backtrace_id) {
        page->common_frames = common_frames(&scan->tree, page->owner_backtrace_id,
                                            block->backtrace_id, page->common_frames);
    }
    if (block->allocation_id < page->example_allocation_id) {
        page->example_allocation_id = block->allocation_id;
        page->owner_backtrace_id = block->backtrace_id;
    }
    page->live_bytes += bytes;
}

/* Spreads [start, end) over its pages: of a block, or overhead when block is NULL. */
static int spread(struct scan *scan, uint64_t start, uint64_t end, const struct block *block,
                  struct error *err)
{
    uint64_t page_bytes = scan->heap->page_bytes;

    for (uint64_t at = start; at < end;) {
        uint64_t upto = at / page_bytes * page_bytes + page_bytes;
        struct heap_scan_page *page = get_page(scan, at);
        if (!page)
            return error_set(err, ERROR_NOMEM, "no memory for the pages of a block");
        upto = upto < end ? upto : end;
        if (block)
            add_live(scan, page, block, upto - at);
        else
            page->overhead_bytes += upto - at;
        at = upto;
    }
    if (!block)
        scan->count.overhead_bytes += end - start;
    return 0;
}

/* ---- heaps ---- */

static void begin_heap(struct scan *scan, const struct heap_scan_heap *heap)
{
    scan->heap = heap;
    scan->count = (struct heap_count){
        .start = heap->start, .end = heap->end_then, .page_bytes = heap->page_bytes};
    scan->state = (struct heap_scan_state){.topmost_allocation_id = 0};
    scan->window.first = heap->start / heap->page_bytes * heap->page_bytes;
    scan->window.n = 0;
    scan->end_so_far = 0;
}

/* In a heap without blocks malloc's own structures are unknown and not counted. */
static int begin_blocks(struct scan *scan, struct error *err)
{
    const struct heap_scan_heap *heap = scan->heap;

    scan->end_so_far = heap_parts_own_end(heap->header_bytes, heap->start, heap->lowest_block);
    return spread(scan, heap->start, scan->end_so_far, NULL, err);
}

static int note_hole(struct scan *scan, uint64_t chunk, uint64_t end, struct error *err)
{
    int rc = 0;

    if (chunk > scan->end_so_far && scan->sink->hole && !scan->heap->has_unseen)
        rc = scan->sink->hole(scan->sink->to, scan->heap, chunk - scan->end_so_far, err);
    if (end > scan->end_so_far)
        scan->end_so_far = end;
    return rc;
}

static void note_topmost(struct scan *scan, const struct block *block, uint64_t end)
{
    bool is_higher = end > scan->count.topmost_end;

    scan->count.live_bytes += block->size_bytes;
    scan->count.slack_bytes += block->usable_bytes - block->size_bytes;
    if (is_higher
        || (end == scan->count.topmost_end
            && block->allocation_id < scan->state.topmost_allocation_id)) {
        scan->count.topmost_end = end;
        scan->state.topmost_allocation_id = block->allocation_id;
        scan->state.topmost_backtrace_id = block->backtrace_id;
    }
}

static int add_block(struct scan *scan, const struct block *block, struct error *err)
{
    const struct heap_scan_heap *heap = scan->heap;
    uint64_t end = block->address + block->usable_bytes;
    uint64_t chunk = block->address;
    int rc = 0;

    if (block->address < heap->start || end < block->address || end > heap->end
        || block->usable_bytes > MAX_BLOCK_BYTES)
        return 0; /* a damaged file */
    if (scan->count.topmost_end == 0)
        rc = begin_blocks(scan, err);
    if (chunk >= heap->start + heap->header_bytes)
        chunk -= heap->header_bytes;
    note_topmost(scan, block, end);
    if (rc == 0)
        rc = pass(scan, chunk, err);
    if (rc == 0)
        rc = note_hole(scan, chunk, end, err);
    if (rc == 0)
        rc = spread(scan, chunk, block->address, NULL, err);
    return rc == 0 ? spread(scan, block->address, end, block, err) : rc;
}

static int end_heap(struct scan *scan, struct error *err)
{
    int rc = pass(scan, UINT64_MAX, err);

    scan->state.parts = heap_parts_make(&scan->count);
    if (rc == 0 && scan->sink->end)
        rc = scan->sink->end(scan->sink->to, scan->heap, &scan->state, err);
    return rc;
}

/* ---- reading ---- */

static const char columns[] =
    "a.heap_id, a.address, a.size_bytes, ifnull(a.slack_bytes, 0), a.allocation_id,"
    " a.backtrace_id";

char *heap_scan_sql(const struct filter_sql *filter)
{
    return filter_sql_rows(filter, columns, FILTER_NEEDS_PROCESS,
                           " AND a.heap_id IS NOT NULL ORDER BY a.heap_id, a.address,"
                           " a.allocation_id");
}

static struct block read_block(struct sqlite3_stmt *row)
{
    struct block block = {.heap_id = sqlite3_column_int64(row, 0),
                          .address = (uint64_t)sqlite3_column_int64(row, 1),
                          .size_bytes = (uint64_t)sqlite3_column_int64(row, 2),
                          .allocation_id = sqlite3_column_int64(row, 4),
                          .backtrace_id = sqlite3_column_int64(row, 5)};

    block.usable_bytes = block.size_bytes + (uint64_t)sqlite3_column_int64(row, 3);
    return block;
}

/* Rows and heaps are both in order of heap_id. *is_row: there is a block that was read and not used
 * yet. */
static int scan_heap(struct scan *scan, struct sqlite3_stmt *rows, bool *is_row, struct error *err)
{
    int rc = 0;

    while (rc == 0 && *is_row) {
        struct block block = read_block(rows);
        if (block.heap_id > scan->heap->heap_id)
            break;
        if (block.heap_id == scan->heap->heap_id)
            rc = add_block(scan, &block, err);
        if (rc != 0)
            break;
        rc = rundb_step(scan->database, rows, err);
        *is_row = rc == 1;
        rc = rc < 0 ? rc : 0;
    }
    return rc == 0 ? end_heap(scan, err) : rc;
}

/* A database of others may contain anything. */
static uint32_t header_bytes(int64_t bytes)
{
    return bytes > 0 && bytes <= 64 ? (uint32_t)bytes : 0;
}

static struct heap_scan_heap read_heap(struct sqlite3_stmt *row)
{
    struct heap_scan_heap heap = {.heap_id = sqlite3_column_int64(row, 0),
                                  .process_id = sqlite3_column_int64(row, 1),
                                  .at_ns = sqlite3_column_int64(row, 2),
                                  .start = (uint64_t)sqlite3_column_int64(row, 3),
                                  .end = (uint64_t)sqlite3_column_int64(row, 4),
                                  .end_then = (uint64_t)sqlite3_column_int64(row, 5),
                                  .lowest_block = (uint64_t)sqlite3_column_int64(row, 6),
                                  .header_bytes = header_bytes(sqlite3_column_int64(row, 7)),
                                  .page_bytes = heap_parts_page_bytes(sqlite3_column_int64(row, 8)),
                                  .has_unseen = sqlite3_column_int(row, 10) != 0};

    (void)snprintf(heap.kind, sizeof(heap.kind), "%s", rundb_text(row, 9));
    return heap;
}

static int prepare_heaps(const struct rundb *database, const struct heap_scan_instant *instant,
                         struct sqlite3_stmt **ret_stmt, struct error *err)
{
    char *sql = sqlite3_mprintf(
        "SELECT h.heap_id, h.process_id, h.at_ns, h.start_address, h.end_address, ifnull((SELECT e.end_address"
        " FROM heap_extents AS e WHERE e.heap_id = h.heap_id AND e.at_ns <= h.at_ns"
        " ORDER BY e.at_ns DESC LIMIT 1), 0), h.lowest_block_address, ifnull(h.header_bytes, 0),"
        " z.page_bytes, h.kind, h.unseen_blocks IS NOT NULL FROM (SELECT h.*, %s AS at_ns FROM heaps AS h JOIN processes AS p"
        " ON p.process_id = h.process_id WHERE at_ns BETWEEN p.start_ns AND p.end_ns"
        " AND %lld IN (0, p.process_id)) AS h CROSS JOIN _page_size AS z ORDER BY h.heap_id",
        instant->at_sql, (long long)instant->filter->process_id);
    int rc = sql ? rundb_prepare(database, sql, ret_stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    return rc;
}

static int scan_heaps(struct scan *scan, struct sqlite3_stmt *heaps, struct sqlite3_stmt *rows,
                      struct error *err)
{
    int rc = rundb_step(scan->database, rows, err);
    bool is_row = rc == 1;

    while (rc >= 0 && (rc = rundb_step(scan->database, heaps, err)) == 1) {
        struct heap_scan_heap heap = read_heap(heaps);
        begin_heap(scan, &heap);
        rc = scan_heap(scan, rows, &is_row, err);
        scan->heap = NULL;
    }
    return rc;
}

static int read_tree(struct scan *scan, struct error *err)
{
    struct tree *tree = &scan->tree;
    struct sqlite3_stmt *stmt = NULL;
    int rc = database_ids(scan->database->handle, "backtraces", "backtrace_id", &tree->n, err);

    if (rc != 0)
        return rc;
    tree->nodes = calloc(tree->n, sizeof(*tree->nodes));
    if (!tree->nodes)
        return error_set(err, ERROR_NOMEM, "no memory for %zu stacks", tree->n);
    rc = rundb_prepare(scan->database,
                       "SELECT backtrace_id, ifnull(parent_backtrace_id, 0), frame_id"
                       " FROM backtraces WHERE backtrace_id > 0",
                       &stmt, err);
    while (rc == 0 && (rc = rundb_step(scan->database, stmt, err)) == 1) {
        int64_t id = database_id(stmt, 0, tree->n);
        struct tree_node *node = &tree->nodes[id];
        node->parent = (uint32_t)database_id(stmt, 1, (size_t)id);
        node->frame = (uint32_t)sqlite3_column_int64(stmt, 2);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

int heap_scan_run(const struct rundb *database, const struct heap_scan_instant *instant,
                  const struct heap_scan_sink *sink, struct error *err)
{
    struct scan scan = {.database = database, .sink = sink};
    struct sqlite3_stmt *heaps = NULL;
    struct sqlite3_stmt *rows = NULL;
    char *sql = heap_scan_sql(instant->filter);
    int rc = sql ? rundb_prepare(database, sql, &rows, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc == 0) {
        filter_sql_bind(instant->filter, rows);
        rc = prepare_heaps(database, instant, &heaps, err);
    }
    if (rc == 0 && sink->page)
        rc = read_tree(&scan, err);
    if (rc == 0)
        rc = scan_heaps(&scan, heaps, rows, err);
    sqlite3_finalize(heaps);
    sqlite3_finalize(rows);
    free(scan.window.pages);
    free(scan.tree.nodes);
    return rc;
}
