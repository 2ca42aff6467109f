/* SPDX-License-Identifier: MIT */
#include "importer/tables/row_writer.h"

#include "common/log_format.h"
#include "importer/tables/bulk_insert.h"

#include <stdlib.h>

struct row_writer {
    struct bulk_insert *allocations;
    struct bulk_insert *links;
    struct bulk_insert *chains;
    struct link_row *link_rows; /* ROW_BATCH_ROWS */
};

struct link_row {
    uint64_t allocation_id, chain_id, position, realloc_from_id;
};

void row_batch_add(struct row_batch *batch, const struct allocation *allocation,
                   const struct pairing_chain *chain)
{
    if (allocation->chain_id)
        batch->links[batch->n_links++] = (uint32_t)batch->n_rows;
    if (chain)
        batch->chains[batch->n_chains++] = *chain;
    batch->rows[batch->n_rows++] = *allocation;
}

static void result_unless(sqlite3_context *context, uint64_t value, uint64_t null_value)
{
    if (value != null_value)
        sqlite3_result_int64(context, (sqlite3_int64)value);
}

/* All but the last column in the order of the table: then SQLite makes the record where the values
 * are, without copying them. */
static const char allocation_columns[] =
    "packed_allocation_rows(alloc_ns, lifetime_ns, address, size_bytes, slack_bytes, backtrace_id,"
    " free_backtrace_id, ending, traits)";

enum {
    N_ALLOCATION_COLUMNS = 9
};

/* What most rows have becomes 0, which SQLite stores in no byte. The schema says where the bits
 * are. */
static int64_t pack_traits(const struct allocation *allocation)
{
    uint64_t thread = allocation->thread;
    uint64_t kind = allocation->call & LOG_CALL_MASK;
    uint64_t packed = allocation->ended_by | kind << 3 | (thread & 0xffff) << 8
                      | (uint64_t)allocation->heap << 24 | thread >> 16 << 48
                      | (uint64_t)allocation->alignment_log2 << 56;

    return (int64_t)packed - 0x1000101;
}

/* Nobody but the allocating thread has an intervening count (PA-4), so both share a column. */
static void result_ending(sqlite3_context *context, const struct allocation *allocation)
{
    if (allocation->intervening != PAIRING_UNKNOWN)
        sqlite3_result_int64(context, (sqlite3_int64)allocation->intervening);
    else if (allocation->free_thread && allocation->free_thread != allocation->thread)
        sqlite3_result_int64(context, -(sqlite3_int64)allocation->free_thread);
}

/* SQLite asks for the columns of a row in order. */
static void allocation_column(const void *row, int column, sqlite3_context *context)
{
    const struct allocation *allocation = row;

    switch (column) {
    case 0:
        sqlite3_result_int64(context, (sqlite3_int64)allocation->alloc_ns);
        return;
    case 1:
        result_unless(context, allocation->lifetime_ns, PAIRING_UNKNOWN);
        return;
    case 2:
        result_unless(context, allocation->address, UINT64_MAX);
        return;
    case 3:
        sqlite3_result_int64(context, (sqlite3_int64)allocation->size_bytes);
        return;
    case 4:
        result_unless(context, allocation->slack_bytes, LIVE_BLOCK_SLACK_UNKNOWN);
        return;
    case 5:
        sqlite3_result_int64(context, allocation->node);
        return;
    case 6:
        result_unless(context, allocation->free_node, 0);
        return;
    case 7:
        result_ending(context, allocation);
        return;
    default:
        sqlite3_result_int64(context, pack_traits(allocation));
    }
}

static void link_column(const void *row, int column, sqlite3_context *context)
{
    const struct link_row *link = row;
    const uint64_t values[] = {link->allocation_id, link->chain_id, link->position,
                               link->realloc_from_id};

    result_unless(context, values[column], 0);
}

static const char chain_columns[] =
    "realloc_chains(chain_id, process_id, first_backtrace_id, last_allocation_id,"
    " last_backtrace_id, length, first_size_bytes, last_size_bytes, start_ns, end_ns,"
    " copied_bytes, moves)";

static void chain_column(const void *row, int column, sqlite3_context *context)
{
    const struct pairing_chain *chain = row;
    const uint64_t values[] = {
        chain->chain_id,  chain->process, chain->first_node,   chain->last_allocation_id,
        chain->last_node, chain->length,  chain->first_size,   chain->last_size,
        chain->start_ns,  chain->end_ns,  chain->copied_bytes, chain->moves};

    result_unless(context, values[column], PAIRING_UNKNOWN);
}

int row_writer_new(sqlite3 *db, uint64_t n_threads, uint64_t n_heaps, struct row_writer **ret,
                   struct error *err)
{
    if (n_threads >> 24 || n_heaps >> 24)
        return error_set(err, ERROR_FORMAT,
                         "more than 16 million threads or heaps: use --slim, which has no rows");
    struct row_writer *writer = calloc(1, sizeof *writer);

    if (writer)
        writer->link_rows = malloc(ROW_BATCH_ROWS * sizeof *writer->link_rows);
    if (!writer || !writer->link_rows) {
        row_writer_free(writer);
        return error_set(err, ERROR_NOMEM, "out of memory");
    }
    int code = bulk_insert_open(db, allocation_columns, N_ALLOCATION_COLUMNS, allocation_column,
                                sizeof(struct allocation), &writer->allocations, err);
    if (code == 0)
        code = bulk_insert_open(db,
                                "chain_rows(allocation_id, chain_id, chain_position,"
                                " realloc_from_id)",
                                4, link_column, sizeof(struct link_row), &writer->links, err);
    if (code == 0)
        code = bulk_insert_open(db, chain_columns, 12, chain_column, sizeof(struct pairing_chain),
                                &writer->chains, err);
    if (code) {
        row_writer_free(writer);
        return code;
    }
    *ret = writer;
    return 0;
}

void row_writer_free(struct row_writer *writer)
{
    if (!writer)
        return;
    bulk_insert_close(writer->allocations);
    bulk_insert_close(writer->links);
    bulk_insert_close(writer->chains);
    free(writer->link_rows);
    free(writer);
}

static int write_links(struct row_writer *writer, const struct row_batch *batch, struct error *err)
{
    for (size_t i = 0; i < batch->n_links; i++) {
        const struct allocation *row = &batch->rows[batch->links[i]];
        writer->link_rows[i] = (struct link_row){
            .allocation_id = row->allocation_id,
            .chain_id = row->chain_id,
            .position = row->chain_position,
            .realloc_from_id = row->realloc_from_id,
        };
    }
    return bulk_insert_rows(writer->links, writer->link_rows, batch->n_links, err);
}

int row_writer_write(struct row_writer *writer, const struct row_batch *batch, struct error *err)
{
    int code = bulk_insert_rows(writer->allocations, batch->rows, batch->n_rows, err);

    if (code == 0 && batch->n_links)
        code = write_links(writer, batch, err);
    if (code == 0 && batch->n_chains)
        code = bulk_insert_rows(writer->chains, batch->chains, batch->n_chains, err);
    return code;
}
