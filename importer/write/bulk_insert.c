/* SPDX-License-Identifier: MIT */
#include "importer/write/bulk_insert.h"

#include "importer/write/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bulk_insert {
    sqlite3 *db;
    sqlite3_stmt *statement;
    bulk_column_fn *column;
    const char *rows; /* of the current call */
    size_t row_bytes;
    size_t n_rows;
    int n_columns;
    char module[40];
};

struct bulk_table {
    sqlite3_vtab base;
    const struct bulk_insert *bulk;
};

struct bulk_cursor {
    sqlite3_vtab_cursor base;
    const struct bulk_insert *bulk;
    const char *row;
    size_t index;
};

static int table_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                         sqlite3_vtab **ret, char **ret_message)
{
    const struct bulk_insert *bulk = context;
    char *sql = sqlite3_mprintf("CREATE TABLE bulk(c0");
    struct bulk_table *table = sqlite3_malloc(sizeof *table);

    (void)argc, (void)argv, (void)ret_message;
    for (int i = 1; sql && i < bulk->n_columns; i++)
        sql = sqlite3_mprintf("%z, c%d", sql, i);
    sql = sql ? sqlite3_mprintf("%z)", sql) : NULL;
    int result = sql && table ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (result != SQLITE_OK) {
        sqlite3_free(table);
        return result;
    }
    *table = (struct bulk_table){.bulk = bulk};
    *ret = &table->base;
    return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
    struct bulk_cursor *cursor = sqlite3_malloc(sizeof *cursor);

    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct bulk_cursor){.bulk = ((struct bulk_table *)table)->bulk};
    *ret = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int index, const char *text, int argc,
                         sqlite3_value **argv)
{
    struct bulk_cursor *cursor = (struct bulk_cursor *)base;

    (void)index, (void)text, (void)argc, (void)argv;
    cursor->index = 0;
    cursor->row = cursor->bulk->rows;
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
    struct bulk_cursor *cursor = (struct bulk_cursor *)base;

    cursor->index++;
    cursor->row += cursor->bulk->row_bytes;
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
    const struct bulk_cursor *cursor = (const struct bulk_cursor *)base;

    return cursor->index >= cursor->bulk->n_rows;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct bulk_cursor *cursor = (const struct bulk_cursor *)base;

    cursor->bulk->column(cursor->row, column, context);
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    *ret = (sqlite3_int64)((const struct bulk_cursor *)base)->index;
    return SQLITE_OK;
}

/* No xCreate: the module is its own table, no schema entry is made. */
static const sqlite3_module bulk_module = {
    .xConnect = table_connect,
    .xDisconnect = table_disconnect,
    .xBestIndex = table_best_index,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};

static int bulk_prepare(struct bulk_insert *bulk, const char *into, struct error *err)
{
    char *sql = sqlite3_mprintf("INSERT INTO %s SELECT * FROM \"%w\"", into, bulk->module);

    if (!sql)
        return error_set(err, ERROR_NOMEM, "out of memory");
    int code = database_prepare(bulk->db, sql, &bulk->statement, err);
    sqlite3_free(sql);
    return code;
}

int bulk_insert_open(sqlite3 *db, const char *into, int n_columns, bulk_column_fn *column,
                     size_t row_bytes, struct bulk_insert **ret, struct error *err)
{
    struct bulk_insert *bulk = calloc(1, sizeof *bulk);

    if (!bulk)
        return error_set(err, ERROR_NOMEM, "out of memory");
    bulk->db = db;
    bulk->column = column;
    bulk->row_bytes = row_bytes;
    bulk->n_columns = n_columns;
    snprintf(bulk->module, sizeof bulk->module, "bulk_%p", (void *)bulk);
    int code = sqlite3_create_module(db, bulk->module, &bulk_module, bulk) == SQLITE_OK
                   ? bulk_prepare(bulk, into, err)
                   : database_error(db, err);
    if (code) {
        bulk_insert_close(bulk);
        return code;
    }
    *ret = bulk;
    return 0;
}

int bulk_insert_rows(struct bulk_insert *bulk, const void *rows, size_t n_rows, struct error *err)
{
    bulk->rows = rows;
    bulk->n_rows = n_rows;
    int step = sqlite3_step(bulk->statement);
    int code = step == SQLITE_DONE ? 0 : database_error(bulk->db, err);
    sqlite3_reset(bulk->statement);
    return code;
}

void bulk_insert_close(struct bulk_insert *bulk)
{
    if (!bulk)
        return;
    sqlite3_finalize(bulk->statement);
    sqlite3_create_module(bulk->db, bulk->module, NULL, NULL);
    free(bulk);
}
