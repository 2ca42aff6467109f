/* SPDX-License-Identifier: MIT */
#include "importer/tables/stack_index.h"

#include "importer/tables/bulk_insert.h"
#include "importer/tables/database.h"

#include <stdint.h>
#include <stdlib.h>

enum {
    RANGE_ENTRIES = 16 << 20,
    BATCH_ROWS = 4096,
};

struct index_row {
    uint64_t stack;
    uint64_t allocation;
};

struct stack_index {
    sqlite3 *db;
    uint64_t *counts; /* by stack; while a range is placed, of its stacks: where the next id goes */
    uint64_t *entries;
    size_t n_stacks;
};

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
    if (!index->counts)
        return error_set(err, ERROR_NOMEM, "out of memory for an index of %zu stacks",
                         index->n_stacks);
    code = database_prepare(index->db, "SELECT backtrace_id FROM packed_allocation_rows",
                            &statement, err);
    if (code)
        return code;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW)
        index->counts[sqlite3_column_int64(statement, 0)]++;
    code = step == SQLITE_DONE ? 0 : database_error(index->db, err);
    sqlite3_finalize(statement);
    return code;
}

/* Ids of the stacks first..last - 1, in order of stack, then of id; the starts move to the ends. */
static int place_range(struct stack_index *index, size_t first, size_t last, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int step;
    int code = database_prepare(index->db,
                                "SELECT allocation_id, backtrace_id FROM packed_allocation_rows",
                                &statement, err);

    if (code)
        return code;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t stack = (size_t)sqlite3_column_int64(statement, 1);
        if (stack >= first && stack < last)
            index->entries[index->counts[stack]++] = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    code = step == SQLITE_DONE ? 0 : database_error(index->db, err);
    sqlite3_finalize(statement);
    return code;
}

static int write_range(struct stack_index *index, size_t first, size_t last,
                       struct bulk_insert *bulk, struct error *err)
{
    static const size_t max_rows = BATCH_ROWS;
    struct index_row rows[BATCH_ROWS];
    size_t n_rows = 0;
    size_t entry = 0;
    int code = 0;

    for (size_t stack = first; code == 0 && stack < last; stack++) {
        for (; code == 0 && entry < index->counts[stack]; entry++) {
            rows[n_rows++] = (struct index_row){stack, index->entries[entry]};
            if (n_rows == max_rows) {
                code = bulk_insert_rows(bulk, rows, n_rows, err);
                n_rows = 0;
            }
        }
    }
    return code ? code : bulk_insert_rows(bulk, rows, n_rows, err);
}

/* A stack with more than RANGE_ENTRIES allocations makes a range of its own. */
static int write_ranges(struct stack_index *index, struct bulk_insert *bulk, struct error *err)
{
    int code = 0;

    for (size_t first = 1, last; code == 0 && first <= index->n_stacks; first = last) {
        uint64_t n_entries = 0;
        for (last = first; last <= index->n_stacks; last++) {
            uint64_t n = index->counts[last];
            if (last > first && n_entries + n > RANGE_ENTRIES)
                break;
            index->counts[last] = n_entries;
            n_entries += n;
        }
        if (n_entries == 0)
            continue;
        index->entries = malloc(n_entries * sizeof *index->entries);
        if (!index->entries)
            return error_set(err, ERROR_NOMEM, "out of memory for an index");
        code = place_range(index, first, last, err);
        if (code == 0)
            code = write_range(index, first, last, bulk, err);
        free(index->entries);
        index->entries = NULL;
    }
    return code;
}

int stack_index_write(sqlite3 *db, struct error *err)
{
    struct stack_index index = {.db = db};
    struct bulk_insert *bulk = NULL;
    int code = count_stacks(&index, err);

    if (code == 0)
        code = bulk_insert_open(db, "backtrace_allocations(backtrace_id, allocation_id)", 2,
                                index_column, sizeof(struct index_row), &bulk, err);
    if (code == 0)
        code = write_ranges(&index, bulk, err);
    bulk_insert_close(bulk);
    free(index.counts);
    return code;
}
