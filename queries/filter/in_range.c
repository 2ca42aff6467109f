/* SPDX-License-Identifier: MIT */
#include "queries/filter/in_range.h"

#include "queries/db/rundb.h"

static const char table_sql[] =
    "DROP VIEW temp._judged;"
    "CREATE TEMP TABLE _judged(process_id INTEGER PRIMARY KEY, start_ns, end_ns)";

int in_range_put(struct rundb *database, const struct in_range_time *times, size_t n_processes,
                 struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, table_sql, err);

    if (rc == 0)
        rc = rundb_prepare(database, "INSERT INTO temp._judged VALUES (?1, ?2, ?3)", &insert, err);
    for (size_t id = 1; rc == 0 && id < n_processes; id++) {
        const int64_t values[] = {(int64_t)id, times[id].start_ns, times[id].end_ns};

        if (times[id].is_known)
            rc = rundb_insert(database, insert, values, sizeof(values) / sizeof(values[0]), err);
    }
    sqlite3_finalize(insert);
    return rc;
}
