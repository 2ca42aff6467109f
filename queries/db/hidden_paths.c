/* SPDX-License-Identifier: MIT */
#include "queries/db/hidden_paths.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"

#include <stddef.h>

/* Columns with a path, and those that are left out as a whole. A message may end with a path. */
static const struct hidden {
    const char *table;
    const char *paths; /* an SQL list */
    const char *texts;
} hidden[] = {
    {"objects", "'path', 'debug_path'", "''"},
    {"sources", "'path'", "''"},
    {"modules", "'mapped_path'", "''"},
    {"processes", "'executable'", "'command_line'"},
    {"mmaps", "'path'", "''"},
    {"roots", "'module'", "''"},
    {"meta", "'value'", "''"},
};

/* The columns of the table as the copy has them: rtrim leaves the folder, with its slash. */
static const char columns_sql[] =
    "SELECT group_concat(CASE WHEN name IN (%s) THEN"
    " printf('iif(instr(\"%%w\", ''/''), ''…/'' || replace(\"%%w\", rtrim(\"%%w\", replace(\"%%w\", ''/'', '''')), ''''), \"%%w\") AS \"%%w\"',"
    " name, name, name, name, name, name)"
    " WHEN name IN (%s) THEN printf('NULL AS \"%%w\"', name) ELSE printf('\"%%w\"', name) END),"
    " max(name) FILTER (WHERE cid = 0) FROM pragma_table_xinfo('%s')";

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory to hide paths");
}

static int hide(struct rundb *database, const struct hidden *table, struct error *err)
{
    char *sql = sqlite3_mprintf(columns_sql, table->paths, table->texts, table->table);
    sqlite3_stmt *row = NULL;
    char *copy = NULL;
    int rc = sql ? rundb_prepare(database, sql, &row, err) : no_memory(err);

    if (rc == 0)
        rc = rundb_step(database, row, err) == 1 ? 0 : rundb_error(database, "reading", err);
    if (rc == 0)
        copy = sqlite3_mprintf("CREATE TEMP TABLE %s AS SELECT %s FROM main.%s;"
                               "CREATE INDEX temp._%s_ids ON %s(%s)",
                               table->table, rundb_text(row, 0), table->table, table->table,
                               table->table, rundb_text(row, 1));
    sqlite3_finalize(row);
    if (rc == 0)
        rc = copy ? rundb_run(database, copy, err) : no_memory(err);
    sqlite3_free(copy);
    sqlite3_free(sql);
    return rc;
}

static bool is_hidden(const char *table)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (sqlite3_stricmp(table, hidden[i].table) == 0)
            return true;
    return false;
}

int hidden_paths_install(struct rundb *database, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof(hidden) / sizeof(*hidden); i++)
        rc = hide(database, &hidden[i], err);
    database->is_hidden = is_hidden;
    return rc;
}
