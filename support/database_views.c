/* SPDX-License-Identifier: MIT */
/* A file of its own, because only it needs the views to be linked. */
#include "support/database_guard.h"
#include "support/embedded_sql.h"
#include "support/error.h"

#include <string.h>

/* One statement; SQLite finds its end. */
static int load_view(struct sqlite3 *db, const char *definition, struct error *err)
{
    char *sql = sqlite3_mprintf("CREATE TEMP VIEW %s", definition);
    struct sqlite3_stmt *stmt = NULL;
    int rc = 0;

    if (!sql)
        return error_set(err, ERROR_NOMEM, "no memory for a view");
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK
        || sqlite3_step(stmt) != SQLITE_DONE)
        rc = error_set(err, ERROR_DATABASE, "cannot make a view: %s", sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc;
}

static int load_views(struct sqlite3 *db, const struct embedded_sql *part, struct error *err)
{
    static const char create[] = "\nCREATE VIEW ";
    int rc = 0;

    for (; rc == 0 && part->name; part++) {
        for (const char *at = strstr(part->text, create); rc == 0 && at; at = strstr(at, create)) {
            at += strlen(create);
            rc = load_view(db, at, err);
        }
    }
    return rc;
}

int database_guard_load_views(struct sqlite3 *db, struct error *err)
{
    int rc = load_views(db, embedded_schema, err);

    return rc == 0 ? load_views(db, embedded_views, err) : rc;
}
