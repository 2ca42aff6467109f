/* SPDX-License-Identifier: MIT */
#include "importer/write/stack_index.h"

#include "importer/pairing/spill_file.h"
#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>

enum {
    BATCH_ROWS = 4096,
    CHUNK_ENTRIES = 8192,
    ID_BITS = 40, /* of an entry; the rest is the stack's number in its range */
    MAX_RANGE_STACKS = 1 << 24,
};

struct index_row {
    uint64_t stack;
    uint64_t allocation;
};

/* Consecutive stacks and their spooled ids. */
struct range {
    size_t first, last; /* stacks first..last - 1 */
    uint64_t n_entries;
    uint64_t *chunk; /* CHUNK_ENTRIES, of which n_chunk are filled */
    size_t n_chunk;
    uint64_t *offsets; /* of the full chunks in the file */
    size_t n_offsets, max_offsets;
};

struct stack_index {
    sqlite3 *db;
    uint64_t *counts; /* by stack; in the range being placed: position of its next id */
    size_t n_stacks;  /* highest id */
    struct range *ranges;
    size_t n_ranges, max_ranges;
    uint32_t *range_of; /* by stack */
    struct spill_file spill;
    uint64_t *entries; /* of the range being placed */
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory for an index");
}

static void index_column(const void *row, int column, sqlite3_context *context)
{
    const struct index_row *entry = row;

    sqlite3_result_int64(context, (sqlite3_int64)(column ? entry->allocation : entry->stack));
}

static int count_stacks(struct stack_index *index, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int step;
    int code = database_get_count(
        index->db, "SELECT coalesce(max(backtrace_id), 0) FROM backtraces", &index->n_stacks, err);

    if (code)
        return code;
    index->counts = calloc(index->n_stacks + 1, sizeof *index->counts);
    index->range_of = calloc(index->n_stacks + 1, sizeof *index->range_of);
    if (!index->counts || !index->range_of)
        return out_of_memory(err);
    code = database_prepare(index->db,
                            "SELECT backtrace_id, sum(allocated_blocks - elided_blocks)"
                            " FROM backtrace_totals GROUP BY backtrace_id",
                            &statement, err);
    if (code)
        return code;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW)
        index->counts[sqlite3_column_int64(statement, 0)] =
            (uint64_t)sqlite3_column_int64(statement, 1);
    code = step == SQLITE_DONE ? 0 : database_error(index->db, err);
    sqlite3_finalize(statement);
    return code;
}

/* A stack with more entries than fit in a range has its own. */
static int make_ranges(struct stack_index *index, uint64_t range_entries, struct error *err)
{
    for (size_t first = 1, last; first <= index->n_stacks; first = last) {
        struct range *ranges = dynamic_array_reserve(index->ranges, &index->max_ranges,
                                                     index->n_ranges + 1, sizeof *ranges);
        if (!ranges)
            return out_of_memory(err);
        index->ranges = ranges;
        struct range *range = &ranges[index->n_ranges++];
        *range = (struct range){.first = first};
        for (last = first; last <= index->n_stacks && last - first < MAX_RANGE_STACKS; last++) {
            uint64_t n = index->counts[last];
            if (last > first && range->n_entries + n > range_entries)
                break;
            index->range_of[last] = (uint32_t)(index->n_ranges - 1);
            index->counts[last] = range->n_entries;
            range->n_entries += n;
        }
        range->last = last;
    }
    return 0;
}

/* ---- one scan ---- */

static int flush_chunk(struct stack_index *index, struct range *range, struct error *err)
{
    uint64_t *offsets = dynamic_array_reserve(range->offsets, &range->max_offsets,
                                              range->n_offsets + 1, sizeof *offsets);

    if (!offsets)
        return out_of_memory(err);
    range->offsets = offsets;
    offsets[range->n_offsets++] = index->spill.size_bytes;
    range->n_chunk = 0;
    return spill_file_append(&index->spill, range->chunk, CHUNK_ENTRIES * sizeof *range->chunk,
                             err);
}

static int put_fallback(struct stack_index *index, size_t stack, uint64_t allocation,
                        struct error *err)
{
    struct range *range = &index->ranges[index->range_of[stack]];

    if (!range->chunk)
        range->chunk = malloc(CHUNK_ENTRIES * sizeof *range->chunk);
    if (!range->chunk)
        return out_of_memory(err);
    range->chunk[range->n_chunk++] = (stack - range->first) << ID_BITS | allocation;
    return range->n_chunk == CHUNK_ENTRIES ? flush_chunk(index, range, err) : 0;
}

static int scan(struct stack_index *index, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int step = SQLITE_DONE;
    int code = database_prepare(index->db,
                                "SELECT allocation_id, backtrace_id FROM packed_allocation_rows",
                                &statement, err);

    if (code)
        return code;
    while (code == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
        code = put_fallback(index, (size_t)sqlite3_column_int64(statement, 1),
                            (uint64_t)sqlite3_column_int64(statement, 0), err);
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(index->db, err);
    sqlite3_finalize(statement);
    return code ? code : spill_file_flush(&index->spill, err);
}

/* ---- each range ---- */

/* Ids stay sorted: rows come in order of id, and chunks in order of rows. */
static void place_chunk(struct stack_index *index, const struct range *range, const uint64_t *chunk,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t stack = range->first + (size_t)(chunk[i] >> ID_BITS);
        uint64_t *next = &index->counts[stack];
        if (*next < range->n_entries)
            index->entries[(*next)++] = chunk[i] & ((UINT64_C(1) << ID_BITS) - 1);
    }
}

static int place_range(struct stack_index *index, const struct range *range, struct error *err)
{
    static uint64_t chunk[CHUNK_ENTRIES];
    int code = 0;

    for (size_t i = 0; code == 0 && i < range->n_offsets; i++) {
        size_t n_read;
        code = spill_file_read(&index->spill, range->offsets[i], chunk, sizeof chunk, &n_read, err);
        if (code == 0)
            place_chunk(index, range, chunk, n_read / sizeof *chunk);
    }
    if (code == 0)
        place_chunk(index, range, range->chunk, range->n_chunk);
    return code;
}

static int write_range(struct stack_index *index, const struct range *range,
                       struct bulk_insert *bulk, struct error *err)
{
    struct index_row rows[BATCH_ROWS];
    size_t n_rows = 0;
    size_t entry = 0;
    int code = 0;

    for (size_t stack = range->first; code == 0 && stack < range->last; stack++) {
        for (; code == 0 && entry < index->counts[stack]; entry++) {
            rows[n_rows++] = (struct index_row){stack, index->entries[entry]};
            if (n_rows == BATCH_ROWS) {
                code = bulk_insert_rows(bulk, rows, n_rows, err);
                n_rows = 0;
            }
        }
    }
    return code ? code : bulk_insert_rows(bulk, rows, n_rows, err);
}

static int write_ranges(struct stack_index *index, struct bulk_insert *bulk, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < index->n_ranges; i++) {
        const struct range *range = &index->ranges[i];
        if (range->n_entries == 0)
            continue;
        index->entries = malloc(range->n_entries * sizeof *index->entries);
        code = index->entries ? place_range(index, range, err) : out_of_memory(err);
        if (code == 0)
            code = write_range(index, range, bulk, err);
        free(index->entries);
    }
    return code;
}

static void index_done(struct stack_index *index)
{
    for (size_t i = 0; i < index->n_ranges; i++) {
        free(index->ranges[i].chunk);
        free(index->ranges[i].offsets);
    }
    free(index->ranges);
    free(index->range_of);
    free(index->counts);
    spill_file_done(&index->spill);
}

int stack_index_write(sqlite3 *db, uint64_t range_entries, struct error *err)
{
    struct stack_index index = {.db = db, .spill = {.fd = -1}};
    struct bulk_insert *bulk = NULL;
    int code = count_stacks(&index, err);

    if (code == 0)
        code = make_ranges(&index, range_entries, err);
    if (code == 0)
        code = spill_file_open(&index.spill, sqlite3_db_filename(db, "main"), err);
    if (code == 0)
        code = scan(&index, err);
    if (code == 0)
        code = bulk_insert_open(db, "backtrace_allocations(backtrace_id, allocation_id)", 2,
                                index_column, sizeof(struct index_row), &bulk, err);
    if (code == 0)
        code = write_ranges(&index, bulk, err);
    bulk_insert_close(bulk);
    index_done(&index);
    return code;
}
