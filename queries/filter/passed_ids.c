/* SPDX-License-Identifier: MIT */
#include "queries/filter/passed_ids.h"

#include "queries/database/rundb.h"
#include "queries/filter/filter_sql.h"
#include "support/error.h"

int passed_ids_fill(struct rundb *database, const struct filter_sql *filter, const char *condition,
                    struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char *rows = filter_sql_rows(filter, "a.allocation_id", 0, condition);
    char *insert = rows ? sqlite3_mprintf("INSERT INTO temp._passed %s", rows) : NULL;
    int rc = insert ? rundb_run(database, "CREATE TEMP TABLE _passed(id INTEGER PRIMARY KEY)", err)
                    : error_set(err, ERROR_NOMEM, "no memory for a statement");

    if (rc == 0)
        rc = rundb_prepare(database, insert, &stmt, err);
    if (rc == 0) {
        filter_sql_bind(filter, stmt);
        rc = rundb_step(database, stmt, err);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(rows);
    sqlite3_free(insert);
    return rc;
}
