/* SPDX-License-Identifier: MIT */
#include "importer/write/row_writer.h"

#include "importer/model/definitions.h"
#include "importer/pairing/lifetimes.h"
#include "importer/totals/statistics.h"
#include "importer/write/table_pages.h"
#include "lib/abi/log_format.h"
#include "lib/base/batch_queue.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>

enum {
    ROW_BATCH_ROWS = 1024,
    ROW_RANGE_ROWS = 4096 /* rows of packed_allocation_rows per row of row_ranges */
};

struct row_batch {
    size_t n_rows;
    size_t n_links;
    size_t n_chains;
    size_t n_charged;
    struct allocation rows[ROW_BATCH_ROWS];
    uint32_t links[ROW_BATCH_ROWS]; /* indexes of rows that belong to a chain */
    struct pairing_chain chains[ROW_BATCH_ROWS];
    uint32_t charged[ROW_BATCH_ROWS]; /* indexes of rows whose group is not the root */
};

/* An unfinished row of row_ranges. */
struct row_range {
    uint64_t n_rows, n_unended;
    int64_t first_id, last_id;
    int64_t min_size, max_size;
    int64_t min_address, max_address; /* max below min: no row has an address */
    int64_t max_lifetime;             /* negative: no row has ended */
};

static const struct row_range empty_range = {.min_size = INT64_MAX,
                                             .max_size = INT64_MIN,
                                             .min_address = INT64_MAX,
                                             .max_address = INT64_MIN,
                                             .max_lifetime = -1};

struct row_writer {
    struct table_pages *pages;
    struct page_table *allocations;
    struct page_table *ranges;
    struct row_range range;
    struct page_table *links;
    struct page_table *chains;
    struct page_table *groups;
    const struct definitions *definitions;
};

static bool is_ended_by_call(const struct allocation *allocation)
{
    return allocation->ended_by == PAIRING_FREED || allocation->ended_by == PAIRING_REALLOCATED;
}

/* Appends to the batch, which must have room; chain may be NULL. */
static void row_batch_add(struct row_batch *batch, const struct allocation *allocation,
                          const struct pairing_chain *chain)
{
    if (allocation->chain_id)
        batch->links[batch->n_links++] = (uint32_t)batch->n_rows;
    if (allocation->group || (allocation->free_group && is_ended_by_call(allocation)))
        batch->charged[batch->n_charged++] = (uint32_t)batch->n_rows;
    if (chain)
        batch->chains[batch->n_chains++] = *chain;
    batch->rows[batch->n_rows++] = *allocation;
}

/* The most common value becomes 0, which SQLite stores in no byte. The schema documents the
 * bits. */
static int64_t pack_traits(const struct allocation *allocation)
{
    uint64_t thread = allocation->thread;
    uint64_t kind = allocation->call & LOG_CALL_MASK;
    uint64_t packed = allocation->ended_by | kind << 3 | (thread & 0xffff) << 8
                      | (uint64_t)allocation->heap << 24 | thread >> 16 << 48
                      | (uint64_t)allocation->alignment_log2 << 56
                      | (uint64_t)allocation->is_above << 62;

    return (int64_t)packed - 0x1000101;
}

/* Only the allocating thread has an intervening count (PA-4), so count and thread share a
 * column. */
static void put_ending(struct page_row *row, unsigned column, const struct allocation *allocation)
{
    if (allocation->intervening != PAIRING_UNKNOWN)
        row->values[column] = (int64_t)allocation->intervening;
    else if (allocation->free_thread && allocation->free_thread != allocation->thread)
        row->values[column] = -(int64_t)allocation->free_thread;
    else
        row->nulls |= 1U << column;
}

static int write_range(struct row_writer *writer, struct error *err)
{
    const struct row_range *range = &writer->range;
    bool has_addresses = range->min_address <= range->max_address;
    struct page_row row = {.values = {range->first_id, range->last_id, range->min_size,
                                      range->max_size, range->min_address, range->max_address,
                                      range->max_lifetime, (int64_t)range->n_unended},
                           .nulls = (has_addresses ? 0 : 3U << 4)
                                    | (range->max_lifetime < 0 ? 1U << 6 : 0)};

    writer->range = empty_range;
    return table_pages_add(writer->ranges, &row, err);
}

static void widen(int64_t *least, int64_t *most, int64_t value)
{
    *least = value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

static int extend_range(struct row_writer *writer, const struct allocation *allocation,
                        struct error *err)
{
    struct row_range *range = &writer->range;
    int64_t lifetime = (int64_t)allocation->lifetime_ns;

    if (range->n_rows++ == 0)
        range->first_id = (int64_t)allocation->allocation_id;
    range->last_id = (int64_t)allocation->allocation_id;
    widen(&range->min_size, &range->max_size, (int64_t)allocation->size_bytes);
    if (allocation->address != UINT64_MAX)
        widen(&range->min_address, &range->max_address, (int64_t)allocation->address);
    if (allocation->lifetime_ns == PAIRING_UNKNOWN)
        range->n_unended++;
    else if (lifetime > range->max_lifetime)
        range->max_lifetime = lifetime;
    return range->n_rows == ROW_RANGE_ROWS ? write_range(writer, err) : 0;
}

static int write_allocation(struct row_writer *writer, const struct allocation *allocation,
                            struct error *err)
{
    struct page_row row = {0};

    row.values[0] = (int64_t)allocation->alloc_ns;
    page_row_put(&row, 1, allocation->lifetime_ns, PAIRING_UNKNOWN);
    page_row_put(&row, 2, allocation->address, UINT64_MAX);
    row.values[3] = (int64_t)allocation->size_bytes;
    page_row_put(&row, 4, allocation->slack_bytes, LIVE_BLOCK_SLACK_UNKNOWN);
    row.values[5] = allocation->backtrace;
    page_row_put(&row, 6, allocation->free_backtrace, 0);
    put_ending(&row, 7, allocation);
    row.values[8] = pack_traits(allocation);
    row.values[9] = (int64_t)allocation->allocation_id;
    int code = table_pages_add(writer->allocations, &row, err);

    return code ? code : extend_range(writer, allocation, err);
}

static int write_link(struct row_writer *writer, const struct allocation *allocation,
                      struct error *err)
{
    struct page_row row = {0};

    row.values[0] = (int64_t)allocation->allocation_id;
    row.values[1] = (int64_t)allocation->chain_id;
    row.values[2] = (int64_t)allocation->chain_position;
    page_row_put(&row, 3, allocation->realloc_from_id, 0);
    return table_pages_add(writer->links, &row, err);
}

static int write_group(struct row_writer *writer, const struct allocation *allocation,
                       struct error *err)
{
    struct page_row row = {0};
    uint32_t free_group = definitions_group_id(writer->definitions, allocation->free_group);

    row.values[0] = (int64_t)allocation->allocation_id;
    row.values[1] = definitions_group_id(writer->definitions, allocation->group);
    page_row_put(&row, 2, is_ended_by_call(allocation) ? free_group : UINT64_MAX, UINT64_MAX);
    return table_pages_add(writer->groups, &row, err);
}

static int write_chain(struct row_writer *writer, const struct pairing_chain *chain,
                       struct error *err)
{
    const uint64_t values[] = {
        chain->chain_id,       chain->process, chain->first_backtrace, chain->last_allocation_id,
        chain->last_backtrace, chain->length,  chain->first_size,      chain->last_size,
        chain->start_ns,       chain->end_ns,  chain->copied_bytes,    chain->moves};
    struct page_row row = {0};

    for (unsigned i = 0; i < sizeof values / sizeof values[0]; i++)
        page_row_put(&row, i, values[i], PAIRING_UNKNOWN);
    return table_pages_add(writer->chains, &row, err);
}

static int open_tables(struct row_writer *writer, struct error *err)
{
    int code =
        table_pages_open(writer->pages, "packed_allocation_rows", 10, 9, &writer->allocations, err);

    if (code == 0)
        code = table_pages_open(writer->pages, "row_ranges", 8, 0, &writer->ranges, err);
    if (code == 0)
        code = table_pages_open(writer->pages, "chain_rows", 4, 0, &writer->links, err);
    if (code == 0)
        code = table_pages_open(writer->pages, "group_rows", 3, 0, &writer->groups, err);
    return code ? code
                : table_pages_open(writer->pages, "realloc_chains", 12, 0, &writer->chains, err);
}

/* NULL is fine. */
static void row_writer_free(struct row_writer *writer)
{
    if (!writer)
        return;
    table_pages_free(writer->pages);
    free(writer);
}

/* Heap ids are at most n_heaps (RW-2). The definitions must live as long as the writer. */
static int row_writer_new(sqlite3 *db, const struct definitions *definitions, uint64_t n_heaps,
                          struct row_writer **ret, struct error *err)
{
    if (definitions->n_threads >> 24 || n_heaps >> 24)
        return error_set(err, ERROR_FORMAT,
                         "more than 16 million threads or heaps: use --slim, which has no rows");
    struct row_writer *writer = calloc(1, sizeof *writer);

    if (!writer)
        return error_set(err, ERROR_NOMEM, "out of memory");
    writer->definitions = definitions;
    writer->range = empty_range;
    int code = table_pages_begin(db, &writer->pages, err);
    if (code == 0)
        code = open_tables(writer, err);
    if (code) {
        row_writer_free(writer);
        return code;
    }
    *ret = writer;
    return 0;
}

static int row_writer_write(struct row_writer *writer, const struct row_batch *batch,
                            struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < batch->n_rows; i++)
        code = write_allocation(writer, &batch->rows[i], err);
    for (size_t i = 0; code == 0 && i < batch->n_links; i++)
        code = write_link(writer, &batch->rows[batch->links[i]], err);
    for (size_t i = 0; code == 0 && i < batch->n_charged; i++)
        code = write_group(writer, &batch->rows[batch->charged[i]], err);
    for (size_t i = 0; code == 0 && i < batch->n_chains; i++)
        code = write_chain(writer, &batch->chains[i], err);
    return code;
}

/* Completes the rows and the last range; the connection has an open transaction again. */
static int row_writer_finish(struct row_writer *writer, struct error *err)
{
    int code = writer->range.n_rows > 0 ? write_range(writer, err) : 0;

    return code ? code : table_pages_end(writer->pages, err);
}

/* ---- all rows ---- */

enum {
    N_BATCHES = 4
};

/* Fills a batch with whole allocations, in order of id. */
static int fill_batch(void *context, void *to, struct error *err)
{
    struct statistics *statistics = context;
    struct row_batch *batch = to;
    struct allocation allocation;
    const struct pairing_chain *chain;
    int more = 0;

    batch->n_rows = batch->n_links = batch->n_chains = batch->n_charged = 0;
    while (batch->n_rows < ROW_BATCH_ROWS
           && (more = statistics_next_row(statistics, &allocation, &chain, err)) > 0)
        row_batch_add(batch, &allocation, chain);
    if (more < 0)
        return more;
    return batch->n_rows > 0;
}

static int write_batches(struct batch_queue *queue, struct row_writer *writer, uint64_t n_total,
                         struct progress *progress, struct error *err)
{
    void *batch = NULL;
    uint64_t n_done = 0;
    int more = 0;
    int code = 0;

    while (code == 0 && (more = batch_queue_next(queue, &batch, err)) > 0) {
        n_done += ((const struct row_batch *)batch)->n_rows;
        if (writer)
            code = row_writer_write(writer, batch, err);
        if (code == 0)
            code = progress_update(progress, n_done, n_total, err);
    }
    return code ? code : more;
}

/* statistics_next_live without processes that are left out. */
static bool next_reported(struct statistics *statistics, struct allocation *ret)
{
    const struct definitions *definitions = statistics->definitions;

    while (statistics_next_live(statistics, ret))
        if (!definitions->processes[definitions->threads[ret->thread].process].is_left_out)
            return true;
    return false;
}

/* Writes rows of the blocks that are live at the end, if only these are known. */
static int write_left(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    struct row_writer *writer = NULL;
    struct row_batch *batch = malloc(sizeof *batch);
    bool has_more = true;
    int code = batch ? row_writer_new(db, statistics->definitions,
                                      heap_ranges_count(statistics->heaps), &writer, err)
                     : error_set(err, ERROR_NOMEM, "out of memory");

    while (code == 0 && has_more) {
        struct allocation allocation;
        batch->n_rows = batch->n_links = batch->n_chains = batch->n_charged = 0;
        while (batch->n_rows < ROW_BATCH_ROWS
               && (has_more = next_reported(statistics, &allocation)))
            row_batch_add(batch, &allocation, NULL);
        code = row_writer_write(writer, batch, err);
    }
    if (code == 0)
        code = row_writer_finish(writer, err);
    row_writer_free(writer);
    free(batch);
    return code;
}

int row_writer_write_all(sqlite3 *db, struct statistics *statistics, bool slim,
                         struct progress *progress, struct error *err)
{
    struct row_writer *writer = NULL;
    struct batch_queue *queue = NULL;
    bool were_skipped = false;
    int code = slim ? statistics_skip_rows(statistics, &were_skipped, err) : 0;

    if (code == 0 && were_skipped && statistics->left.is_wanted)
        return write_left(db, statistics, err);
    if (code || were_skipped)
        return code;
    code = statistics_begin_rows(statistics, err);

    if (code == 0 && !slim)
        code = row_writer_new(db, statistics->definitions, heap_ranges_count(statistics->heaps),
                              &writer, err);
    if (code == 0)
        code = batch_queue_open(N_BATCHES, sizeof(struct row_batch), fill_batch, statistics, &queue,
                                err);
    if (code == 0)
        code = write_batches(queue, writer, statistics_n_allocations(statistics), progress, err);
    if (code == 0 && writer)
        code = row_writer_finish(writer, err);
    batch_queue_close(queue);
    row_writer_free(writer);
    return code ? code : statistics_end_rows(statistics, err);
}
