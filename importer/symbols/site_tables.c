/* SPDX-License-Identifier: MIT */
#include "importer/symbols/site_tables.h"

#include "importer/write/database.h"
#include "lib/base/saturating.h"
#include "lib/sqlite/database_guard.h"
#include "lib/totals/touched_ids.h"

#include <stdint.h>
#include <stdlib.h>

struct sites {
    const struct site_of_stack *of_stack;
    int64_t *stack_bytes;      /* live, in the last snapshot with the stack */
    int64_t *change_bytes;     /* by call site, in the current snapshot */
    struct touched_ids stacks; /* with bytes in any snapshot of the process */
    struct touched_ids sites;  /* with a change in the current snapshot */
};

static int sites_new(sqlite3 *db, struct sites *sites, struct error *err)
{
    size_t n_stacks = sites->of_stack->n_stacks;
    size_t n_sites;
    int code = database_ids(db, "call_sites", "call_site_id", &n_sites, err);

    if (code)
        return code;
    sites->stack_bytes = calloc(n_stacks, sizeof *sites->stack_bytes);
    sites->change_bytes = calloc(n_sites, sizeof *sites->change_bytes);
    if (!sites->stack_bytes || !sites->change_bytes)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of %zu stacks", n_stacks);
    code = touched_ids_init(&sites->stacks, n_stacks, err);
    return code ? code : touched_ids_init(&sites->sites, n_sites, err);
}

static void sites_done(struct sites *sites)
{
    free(sites->stack_bytes);
    free(sites->change_bytes);
    touched_ids_done(&sites->stacks);
    touched_ids_done(&sites->sites);
}

static int write_snapshot(struct sites *sites, int64_t snapshot, sqlite3_stmt *insert,
                          struct error *err)
{
    int code = 0;

    touched_ids_sort(&sites->sites);
    for (size_t i = 0; i < sites->sites.n; i++) {
        uint32_t site = sites->sites.ids[i];
        int64_t change = sites->change_bytes[site];
        sites->change_bytes[site] = 0;
        if (code == 0 && change != 0)
            code = database_insert(insert, err, "izi", snapshot, (uint64_t)site, change);
    }
    touched_ids_clear(&sites->sites);
    return code;
}

static void take_stack(struct sites *sites, uint32_t stack, int64_t live_bytes)
{
    uint32_t site = sites->of_stack->ids[stack];

    touched_ids_add(&sites->stacks, stack);
    touched_ids_add(&sites->sites, site);
    saturating_grow(&sites->change_bytes[site],
                    saturating_subtract(live_bytes, sites->stack_bytes[stack]));
    sites->stack_bytes[stack] = live_bytes;
}

static int take_snapshot(sqlite3 *db, struct sites *sites, int64_t snapshot, sqlite3_stmt *stacks,
                         struct error *err)
{
    int step;

    sqlite3_bind_int64(stacks, 1, snapshot);
    while ((step = sqlite3_step(stacks)) == SQLITE_ROW)
        take_stack(sites, (uint32_t)database_id(stacks, 0, sites->of_stack->n_stacks),
                   sqlite3_column_int64(stacks, 1));
    sqlite3_reset(stacks);
    return step == SQLITE_DONE ? 0 : database_error(db, err);
}

static void forget_stacks(struct sites *sites)
{
    for (size_t i = 0; i < sites->stacks.n; i++)
        sites->stack_bytes[sites->stacks.ids[i]] = 0;
    touched_ids_clear(&sites->stacks);
}

static int write_snapshots(sqlite3 *db, struct sites *sites, struct error *err)
{
    sqlite3_stmt *snapshots = NULL;
    sqlite3_stmt *stacks = NULL;
    sqlite3_stmt *insert = NULL;
    int64_t last_process = 0;
    int step = SQLITE_DONE;
    int code = database_prepare(db,
                                "SELECT process_id, snapshot_id FROM snapshots"
                                " WHERE reason <> 'peak' ORDER BY process_id, at_ns, snapshot_id",
                                &snapshots, err);

    if (code == 0)
        code = database_prepare(
            db, "SELECT backtrace_id, live_bytes FROM snapshot_backtraces WHERE snapshot_id = ?",
            &stacks, err);
    if (code == 0)
        code = database_prepare(db, "INSERT INTO snapshot_sites VALUES (?, ?, ?)", &insert, err);
    while (code == 0 && (step = sqlite3_step(snapshots)) == SQLITE_ROW) {
        int64_t process = sqlite3_column_int64(snapshots, 0);
        int64_t snapshot = sqlite3_column_int64(snapshots, 1);
        if (process != last_process)
            forget_stacks(sites);
        last_process = process;
        code = take_snapshot(db, sites, snapshot, stacks, err);
        if (code == 0)
            code = write_snapshot(sites, snapshot, insert, err);
    }
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(db, err);
    sqlite3_finalize(snapshots);
    sqlite3_finalize(stacks);
    sqlite3_finalize(insert);
    return code;
}

static const char before_sql[] =
    "DELETE FROM site_totals; DELETE FROM site_leaks; DELETE FROM site_frees;"
    "DELETE FROM suppressed_stacks; DELETE FROM snapshot_sites; DELETE FROM site_shapes;"
    "DELETE FROM site_growth; DELETE FROM site_leak_times;"
    "INSERT INTO site_totals SELECT * FROM _site_totals;"
    "INSERT INTO site_frees SELECT * FROM _site_frees;"
    "INSERT INTO suppressed_stacks SELECT * FROM _suppressed_stacks;";

/* They need snapshot_sites. */
static const char after_sql[] = "INSERT INTO site_leak_times SELECT * FROM _site_leak_times;"
                                "INSERT INTO site_shapes SELECT * FROM _site_shapes;"
                                "INSERT INTO site_leaks SELECT * FROM _site_leaks;"
                                "INSERT INTO site_growth SELECT * FROM _site_growth;";

int site_tables_write(sqlite3 *db, const struct site_of_stack *of_stack, struct error *err)
{
    struct sites sites = {.of_stack = of_stack};
    int code = database_execute(db, before_sql, err);

    if (code == 0)
        code = sites_new(db, &sites, err);
    if (code == 0)
        code = write_snapshots(db, &sites, err);
    if (code == 0)
        code = database_execute(db, after_sql, err);
    sites_done(&sites);
    return code;
}
