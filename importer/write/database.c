/* SPDX-License-Identifier: MIT */
#include "importer/write/database.h"

#include "lib/base/file_io.h"
#include "lib/process/output_file.h"
#include "lib/sqlite/database_file.h"
#include "lib/sqlite/database_guard.h"
#include "lib/sqlite/embedded_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    CACHE_KIB = 40 * 1024, /* rows are appended: a larger cache would only delay writes */
    PAGE_BYTES = 16384,    /* a quarter of the writes of SQLite's default 4096, and fewer levels */
    SMALL_PAGE_BYTES = 2048, /* every table takes at least one page */
    SMALL_BYTES = 1 << 20,
};

struct database {
    sqlite3 *db;
    struct output_file file;     /* of a new database; else the target itself is open */
    struct database_guard guard; /* of an existing target */
};

/* ---- files ---- */

int database_check_space(const char *path, uint64_t needed_bytes, struct error *err)
{
    struct statvfs room;
    char *copy = strdup(path);

    if (!copy)
        return error_set(err, ERROR_NOMEM, "out of memory");
    const char *folder = dirname(copy);
    int code = 0;
    if (statvfs(folder, &room) != 0) {
        code = error_set_errno(err, errno, "cannot write to '%s'", folder);
    } else if ((uint64_t)room.f_bavail * room.f_frsize < needed_bytes) {
        code = error_set(err, ERROR_IO,
                         "not enough room in '%s': about %" PRIu64 " MiB needed, %" PRIu64
                         " MiB free; give a target on another disk, or use --slim",
                         folder, needed_bytes >> 20, (uint64_t)room.f_bavail * room.f_frsize >> 20);
        if (err)
            err->os_errno = ENOSPC;
    }
    free(copy);
    return code;
}

static int fail_irregular(const char *target, struct error *err)
{
    return error_set(err, ERROR_EXISTS, "'%s' is not a regular file; name another target", target);
}

static int check_target(const char *target, bool replace, struct error *err)
{
    struct stat status;

    if (lstat(target, &status) != 0)
        return 0;
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return fail_irregular(target, err);
    if (replace && database_file_owner(target) == DATABASE_FILE_FOREIGN)
        return error_set(err, ERROR_EXISTS,
                         "'%s' exists and is not a database of mtrace; name another target or "
                         "remove it",
                         target);
    return 0;
}

static int execute_all(sqlite3 *db, const struct embedded_sql *sql, struct error *err)
{
    int code = 0;

    for (; code == 0 && sql->name; sql++)
        code = database_execute(db, sql->text, err);
    return code;
}

static int create_tables(sqlite3 *db, struct error *err)
{
    int code = execute_all(db, embedded_schema, err);

    return code ? code : execute_all(db, embedded_views, err);
}

static int put_blank(const struct database *database, const struct database_blank *blank,
                     struct error *err)
{
    int errnum = file_io_write(database->file.fd, blank->bytes, blank->n_bytes, 0, NULL);

    return errnum ? error_set_errno(err, errnum, "cannot write '%s'", database->file.target) : 0;
}

static int begin_new(struct database *database, uint64_t expected_bytes,
                     const struct database_blank *blank, struct error *err)
{
    bool is_blank = blank && blank->bytes && expected_bytes < SMALL_BYTES;
    char pragmas[256];
    int code = is_blank ? put_blank(database, blank, err) : 0;

    if (code)
        return code;
    if (sqlite3_open_v2(database->file.temporary, &database->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)
        != SQLITE_OK) {
        code = database_file_check_name(database->file.target, database->file.temporary, err);
        return code ? code : database_error(database->db, err);
    }
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size = %d; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
             "PRAGMA cache_size = -%d;"
             "PRAGMA temp_store = MEMORY; BEGIN",
             expected_bytes < SMALL_BYTES ? SMALL_PAGE_BYTES : PAGE_BYTES, CACHE_KIB);
    code = database_execute(database->db, pragmas, err);
    return code || is_blank ? code : create_tables(database->db, err);
}

int database_blank_make(struct database_blank *blank, struct error *err)
{
    char pragma[64];
    sqlite3_int64 n_bytes = 0;
    sqlite3 *db = NULL;

    snprintf(pragma, sizeof pragma, "PRAGMA page_size = %d; BEGIN", SMALL_PAGE_BYTES);
    int code = sqlite3_open(":memory:", &db) == SQLITE_OK ? database_execute(db, pragma, err)
                                                          : database_error(db, err);
    if (code == 0)
        code = create_tables(db, err);
    if (code == 0)
        code = database_execute(db, "COMMIT", err);
    if (code == 0) {
        blank->bytes = sqlite3_serialize(db, "main", &n_bytes, 0);
        blank->n_bytes = (size_t)n_bytes;
    }
    sqlite3_close(db);
    return code || blank->bytes ? code : error_set(err, ERROR_NOMEM, "out of memory");
}

void database_blank_done(struct database_blank *blank)
{
    sqlite3_free(blank->bytes);
    *blank = (struct database_blank){.bytes = NULL};
}

static int database_new(struct database **ret, struct error *err)
{
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        return error_set(err, ERROR_NOMEM, "out of memory");
    (*ret)->file.fd = -1;
    return 0;
}

int database_create(const char *target, bool replace, uint64_t expected_bytes,
                    const struct database_blank *blank, struct database **ret, struct error *err)
{
    struct database *database;
    int code = check_target(target, replace, err);

    if (code == 0)
        code = database_new(&database, err);
    if (code)
        return code;
    code = output_file_open(&database->file, target, replace, 0666, err);
    if (code == 0 && !database->file.temporary) /* a pipe or device behind a link */
        code = fail_irregular(target, err);
    if (code == 0)
        code = begin_new(database, expected_bytes, blank, err);
    if (code) {
        database_close(database);
        return code;
    }
    *ret = database;
    return 0;
}

int database_open(const char *target, struct database **ret, struct error *err)
{
    struct database *database;
    struct stat status;
    int code;

    if (stat(target, &status) != 0)
        return error_set_errno(err, errno, "cannot open '%s'", target);
    code = database_new(&database, err);
    if (code)
        return code;
    if (sqlite3_open_v2(target, &database->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)
        != SQLITE_OK) {
        code = database_file_check_name(target, target, err);
        if (code == 0)
            code = error_set(err, ERROR_IO, "cannot open '%s': %s", target,
                             sqlite3_errmsg(database->db));
    }
    if (code == 0)
        code = database_guard_put(&database->guard, database->db, target, true, err);
    if (code) {
        database_close(database);
        return code;
    }
    *ret = database;
    return 0;
}

void database_let_pass(struct database *database)
{
    database->file.is_passing = true;
}

int database_commit(struct database *database, struct error *err)
{
    int code = database_execute(database->db, "COMMIT", err);

    if (code || !database->file.temporary)
        return code;
    if (sqlite3_close(database->db) != SQLITE_OK)
        return database_error(database->db, err);
    database->db = NULL;
    return output_file_commit(&database->file, err);
}

void database_close(struct database *database)
{
    if (!database)
        return;
    sqlite3_close_v2(database->db); /* rolls back an open transaction */
    output_file_close(&database->file);
    free(database);
}

sqlite3 *database_sqlite(struct database *database)
{
    return database->db;
}
