/* SPDX-License-Identifier: MIT */
#include "importer/write/process_filter.h"

#include "importer/write/database.h"

#include <stdbool.h>

/* Rows without a process_id go with the row to which they belong. */
static const char g_keep_parts[] =
    "DELETE FROM snapshot_backtraces WHERE snapshot_id NOT IN (SELECT snapshot_id FROM snapshots);"
    "DELETE FROM snapshot_sites WHERE snapshot_id NOT IN (SELECT snapshot_id FROM snapshots);"
    "DELETE FROM heap_states WHERE heap_id NOT IN (SELECT heap_id FROM heaps);"
    "DELETE FROM heap_pages WHERE heap_id NOT IN (SELECT heap_id FROM heaps);"
    "DELETE FROM heap_extents WHERE heap_id NOT IN (SELECT heap_id FROM heaps);"
    "DELETE FROM heap_pins WHERE snapshot_id NOT IN (SELECT snapshot_id FROM snapshots);"
    "DELETE FROM object_nodes WHERE walk_id NOT IN (SELECT walk_id FROM object_walks);"
    "DELETE FROM object_claims WHERE walk_id NOT IN (SELECT walk_id FROM object_walks);"
    "DELETE FROM object_warnings WHERE walk_id NOT IN (SELECT walk_id FROM object_walks);"
    "DELETE FROM unclaimed_totals WHERE walk_id NOT IN (SELECT walk_id FROM object_walks);"
    "UPDATE processes SET parent_process_id = NULL"
    " WHERE parent_process_id NOT IN (SELECT process_id FROM processes)";

static bool is_any_left_out(const struct definitions *definitions)
{
    bool is_any = false;

    for (size_t id = 1; id <= definitions->n_processes; id++)
        is_any |= definitions->processes[id].is_left_out;
    return is_any;
}

static int leave_processes_out(sqlite3 *db, const struct definitions *definitions,
                               struct error *err)
{
    sqlite3_stmt *delete = NULL;
    int code = database_prepare(db, "DELETE FROM processes WHERE process_id = ?", &delete, err);

    for (size_t id = 1; code == 0 && id <= definitions->n_processes; id++)
        if (definitions->processes[id].is_left_out)
            code = database_insert(delete, err, "u", (uint64_t)id);
    sqlite3_finalize(delete);
    return code;
}

/* Makes a statement for each table with a process_id. The caller frees *ret_sql. */
static int make_statements(sqlite3 *db, char **ret_sql, struct error *err)
{
    sqlite3_stmt *select = NULL;
    sqlite3_str *sql = sqlite3_str_new(db);
    int code = database_prepare(
        db,
        "SELECT t.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
        " WHERE t.type = 'table' AND c.name = 'process_id' AND t.name <> 'processes'",
        &select, err);

    while (code == 0 && sqlite3_step(select) == SQLITE_ROW)
        sqlite3_str_appendf(sql,
                            "DELETE FROM \"%w\" WHERE process_id NOT IN"
                            " (SELECT process_id FROM processes);",
                            (const char *)sqlite3_column_text(select, 0));
    sqlite3_finalize(select);
    *ret_sql = sqlite3_str_finish(sql);
    return code || *ret_sql ? code : error_set(err, ERROR_NOMEM, "out of memory");
}

int process_filter_keep(sqlite3 *db, const struct definitions *definitions, struct error *err)
{
    char *sql = NULL;
    int code = 0;

    if (!is_any_left_out(definitions))
        return 0;
    code = leave_processes_out(db, definitions, err);
    if (code == 0)
        code = make_statements(db, &sql, err);
    if (code == 0)
        code = database_execute(db, sql, err);
    sqlite3_free(sql);
    return code ? code : database_execute(db, g_keep_parts, err);
}
