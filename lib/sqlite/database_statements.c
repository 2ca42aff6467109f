/* SPDX-License-Identifier: MIT */
#include "lib/sqlite/database_statements.h"

#include "lib/process/output_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The target of a connection's file. The length excludes the suffix of a temporary name. */
static const char *target_of(sqlite3 *db, int *ret_length)
{
    const char *file = sqlite3_db_filename(db, "main");
    const char *name = file ? file : "";
    const char *suffix = strstr(name, OUTPUT_FILE_SUFFIX);

    *ret_length = (int)(suffix ? (size_t)(suffix - name) : strlen(name));
    return name;
}

int database_write_error(sqlite3 *db, int errnum, struct error *err)
{
    int length;
    const char *name = target_of(db, &length);

    return error_set_errno(err, errnum, "cannot write '%.*s'", length, name);
}

int database_error(sqlite3 *db, struct error *err)
{
    int length;
    const char *name = target_of(db, &length);

    if (error_means_disk_full(sqlite3_system_errno(db)))
        return database_write_error(db, sqlite3_system_errno(db), err);
    if (sqlite3_errcode(db) == SQLITE_FULL)
        return database_write_error(db, ENOSPC, err);
    /* Only the guard interrupts. */
    if (sqlite3_errcode(db) == SQLITE_INTERRUPT || sqlite3_errcode(db) == SQLITE_CORRUPT)
        return error_set(err, ERROR_FORMAT, "'%.*s' is damaged; import the recording again", length,
                         name);
    return error_set(err, ERROR_DATABASE, "cannot write '%.*s': %s", length, name,
                     sqlite3_errmsg(db));
}

int database_execute(sqlite3 *db, const char *sql, struct error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : database_error(db, err);
}

int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct error *err)
{
    return sqlite3_prepare_v2(db, sql, -1, ret, NULL) == SQLITE_OK ? 0 : database_error(db, err);
}

int database_get_count(sqlite3 *db, const char *sql, size_t *ret_count, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = database_prepare(db, sql, &statement, err);

    *ret_count = 0;
    if (code == 0 && sqlite3_step(statement) == SQLITE_ROW)
        *ret_count = (size_t)sqlite3_column_int64(statement, 0);
    else if (code == 0)
        code = database_error(db, err);
    sqlite3_finalize(statement);
    return code;
}

static void bind_unsigned(sqlite3_stmt *statement, int index, uint64_t value, uint64_t null_value)
{
    if (value == null_value)
        sqlite3_bind_null(statement, index);
    else
        sqlite3_bind_int64(statement, index, (sqlite3_int64)value);
}

static void bind_not_negative(sqlite3_stmt *statement, int index, int64_t value)
{
    if (value < 0)
        sqlite3_bind_null(statement, index);
    else
        sqlite3_bind_int64(statement, index, value);
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    if (text)
        sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(statement, index);
}

int database_insert(sqlite3_stmt *statement, struct error *err, const char *types, ...)
{
    va_list arguments;

    va_start(arguments, types);
    for (int i = 1; types[i - 1]; i++) {
        switch (types[i - 1]) {
        case 'i':
            sqlite3_bind_int64(statement, i, va_arg(arguments, int64_t));
            break;
        case 'u':
            sqlite3_bind_int64(statement, i, (sqlite3_int64)va_arg(arguments, uint64_t));
            break;
        case 'z':
            bind_unsigned(statement, i, va_arg(arguments, uint64_t), 0);
            break;
        case 's': {
            double size = va_arg(arguments, double);
            if (size < 0)
                sqlite3_bind_null(statement, i);
            else
                sqlite3_bind_double(statement, i, size);
            break;
        }
        case 'm':
            bind_unsigned(statement, i, va_arg(arguments, uint64_t), UINT64_MAX);
            break;
        case 'o':
            bind_not_negative(statement, i, va_arg(arguments, int64_t));
            break;
        case 't':
            bind_text(statement, i, va_arg(arguments, const char *));
            break;
        default:
            sqlite3_bind_null(statement, i);
        }
    }
    va_end(arguments);
    int step = sqlite3_step(statement);
    int code = step == SQLITE_DONE ? 0 : database_error(sqlite3_db_handle(statement), err);
    sqlite3_reset(statement);
    return code;
}
