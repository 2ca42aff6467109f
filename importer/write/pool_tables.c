/* SPDX-License-Identifier: MIT */
#include "importer/totals/statistics.h"
#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "importer/write/total_tables.h"

enum {
    BATCH_ROWS = 512
};

enum column {
    POOL,
    ALLOCATION,
    REALLOC_FROM,
    THREAD,
    ADDRESS,
    SIZE_BYTES,
    ALLOC_NS,
    LIFETIME_NS,
    FREE_THREAD,
    BACKTRACE,
    FREE_BACKTRACE,
    ENDED_BY,
    GROUP,
    FREE_GROUP,
    N_COLUMNS
};

/* A row for bulk_insert; UINT64_MAX is NULL. */
struct pool_values {
    uint64_t values[N_COLUMNS];
};

static uint64_t or_null(uint64_t value)
{
    return value ? value : UINT64_MAX;
}

static void fill_values(const struct definitions *definitions, const struct pool_row *row,
                        struct pool_values *ret)
{
    const struct allocation *block = &row->block;
    bool is_called = block->ended_by == PAIRING_FREED || block->ended_by == PAIRING_REALLOCATED;

    *ret = (struct pool_values){{
        [POOL] = row->pool,
        [ALLOCATION] = or_null(row->outer_id),
        [REALLOC_FROM] = or_null(block->realloc_from_id),
        [THREAD] = block->thread,
        [ADDRESS] = block->address,
        [SIZE_BYTES] = block->size_bytes,
        [ALLOC_NS] = block->alloc_ns,
        [LIFETIME_NS] = block->lifetime_ns,
        [FREE_THREAD] = is_called ? or_null(block->free_thread) : UINT64_MAX,
        [BACKTRACE] = block->backtrace,
        [FREE_BACKTRACE] = block->free_backtrace == DEFINITIONS_NO_BACKTRACE
                               ? UINT64_MAX
                               : or_null(block->free_backtrace),
        [ENDED_BY] = block->ended_by,
        [GROUP] = definitions_group_id(definitions, block->group),
        [FREE_GROUP] =
            is_called ? definitions_group_id(definitions, block->free_group) : UINT64_MAX,
    }};
}

static void show_column(const void *row, int column, sqlite3_context *context)
{
    uint64_t value = ((const struct pool_values *)row)->values[column];

    if (value != UINT64_MAX)
        sqlite3_result_int64(context, (sqlite3_int64)value);
}

static int write_rows(struct bulk_insert *insert, const struct statistics *statistics,
                      struct error *err)
{
    struct pool_values batch[BATCH_ROWS];
    struct pool_row row = {0};
    size_t n = 0;
    int code = 0;
    int more = 0;

    while (code == 0 && (more = pool_blocks_next(statistics->pools, &row, err)) > 0) {
        fill_values(statistics->definitions, &row, &batch[n++]);
        if (n == BATCH_ROWS) {
            code = bulk_insert_rows(insert, batch, n, err);
            n = 0;
        }
    }
    if (code == 0 && more == 0 && n > 0)
        code = bulk_insert_rows(insert, batch, n, err);
    return code ? code : more;
}

static int write_blocks(sqlite3 *db, const struct statistics *statistics, struct error *err)
{
    struct bulk_insert *insert = NULL;
    int code = bulk_insert_open(
        db,
        "pool_block_rows(pool_id, allocation_id, realloc_from_id, thread_id, address, size_bytes,"
        " alloc_ns, lifetime_ns, free_thread_id, backtrace_id, free_backtrace_id, ended_by,"
        " group_id, free_group_id)",
        N_COLUMNS, show_column, sizeof(struct pool_values), &insert, err);

    if (code == 0)
        code = write_rows(insert, statistics, err);
    bulk_insert_close(insert);
    return code;
}

/* With samples, the pool blocks inside a malloc block are not known: NULL. */
static int write_pools(sqlite3 *db, const struct statistics *statistics, struct error *err)
{
    const struct definitions *definitions = statistics->definitions;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(
        db, "INSERT INTO pools VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    for (uint32_t pool = 1; code == 0 && pool <= definitions->n_pools; pool++) {
        const struct pool_account *account = pool_blocks_account(statistics->pools, pool);
        const struct definitions_text *name = &definitions->pools[pool - 1];
        if (definitions->is_cut && account->allocated_blocks == 0 && account->freed_blocks == 0)
            continue;

        bool is_known = definitions->processes[name->process].sample_bytes == 0;
        code = database_insert(
            insert, err, "uutuuuuuuummmmm", (uint64_t)pool, (uint64_t)name->process, name->text,
            account->allocated_blocks, account->allocated_bytes, account->freed_blocks,
            account->freed_bytes, account->live_blocks, account->live_bytes, account->peak_bytes,
            account->peak_bytes ? account->peak_ns : TOTALS_NEVER,
            is_known ? account->taken_blocks : UINT64_MAX,
            is_known ? account->taken_bytes : UINT64_MAX,
            is_known ? account->held_bytes : UINT64_MAX,
            is_known ? account->held_bytes - account->inside_bytes : UINT64_MAX);
    }
    sqlite3_finalize(insert);
    return code;
}

int pool_tables_write(sqlite3 *db, const struct statistics *statistics, bool slim,
                      struct error *err)
{
    int code = statistics->pools ? write_pools(db, statistics, err) : 0;

    if (code || !statistics->pools || slim)
        return code;
    return write_blocks(db, statistics, err);
}
