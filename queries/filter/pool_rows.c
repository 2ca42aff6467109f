/* SPDX-License-Identifier: MIT */
#include "queries/filter/pool_rows.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter.h"
#include "queries/filter/filtered_totals.h"

#include <string.h>

/* Ranges do not describe these rows. A statement that names a view loads it first, so it can be
 * dropped and replaced here. */
static const char rows_sql[] =
    "DROP VIEW IF EXISTS temp.allocation_rows;\n"
    "CREATE TEMP VIEW allocation_rows AS SELECT pool_block_id AS allocation_id, alloc_ns, lifetime_ns, address, size_bytes,"
    " NULL AS slack_bytes, backtrace_id, free_backtrace_id, thread_id, nullif(free_thread_id, thread_id) AS other_free_thread_id,"
    " NULL AS call_code, ended_by, NULL AS heap_id, NULL AS intervening_allocations, 0 AS is_above FROM main.pool_block_rows;\n"
    "CREATE TEMP VIEW row_ranges AS SELECT * FROM main.row_ranges WHERE 0;\n"
    "CREATE TEMP VIEW group_rows AS SELECT pool_block_id AS allocation_id, group_id, free_group_id FROM main.pool_block_rows"
    " WHERE group_id <> 1;\n";

/* Phases and windows as ranges of the ids allocated in them. A window lasts until the next one: a
 * thread may finish an allocation after its end. */
static const char times_sql[] =
    "CREATE TEMP TABLE _allocation_times(alloc_ns, id, PRIMARY KEY (alloc_ns, id)) WITHOUT ROWID;\n"
    "INSERT INTO _allocation_times SELECT alloc_ns, pool_block_id FROM main.pool_block_rows;\n"
    "CREATE TEMP VIEW _times AS SELECT 'phase' AS what, phase_id AS id, process_id, name, start_ns,"
    " coalesce(end_ns, 0x7fffffffffffffff) AS until_ns FROM main.phases UNION ALL SELECT 'window', window_id, process_id, NULL, start_ns,"
    " lead(start_ns, 1, 0x7fffffffffffffff) OVER (PARTITION BY process_id ORDER BY start_ns) - 1 FROM main.windows;\n"
    "CREATE TEMP VIEW _times_of_ids AS SELECT *,"
    " (SELECT b.id FROM _allocation_times AS b WHERE b.alloc_ns >= start_ns ORDER BY b.alloc_ns, b.id LIMIT 1) AS first_allocation_id,"
    " (SELECT b.id FROM _allocation_times AS b WHERE b.alloc_ns <= until_ns ORDER BY b.alloc_ns DESC, b.id DESC LIMIT 1) AS last_allocation_id"
    " FROM _times;\n"
    "CREATE TEMP VIEW phases AS SELECT id AS phase_id, * FROM _times_of_ids WHERE what = 'phase';\n"
    "CREATE TEMP VIEW windows AS SELECT id AS window_id, * FROM _times_of_ids WHERE what = 'window';\n";

/* Events of the same time are one step. Blocks lost in an exec were never given back. */
static const char pools_sql[] =
    "CREATE TEMP TABLE pools AS WITH"
    " block AS MATERIALIZED (SELECT b.pool_id, b.size_bytes, b.alloc_ns, b.ended_by IN (0, 4) AS is_live,"
    "   b.alloc_ns + b.lifetime_ns AS end_ns FROM temp._passed AS s CROSS JOIN main.pool_block_rows AS b ON b.pool_block_id = s.id),"
    " total AS (SELECT pool_id, count(*) AS blocks, sum(size_bytes) AS bytes, sum(is_live) AS live_blocks,"
    "   sum(size_bytes * is_live) AS live_bytes FROM block GROUP BY pool_id),"
    " change AS (SELECT pool_id, alloc_ns AS at_ns, size_bytes AS bytes FROM block"
    "   UNION ALL SELECT pool_id, end_ns, -size_bytes FROM block WHERE NOT is_live),"
    " instant AS (SELECT pool_id, at_ns, sum(bytes) AS bytes FROM change GROUP BY pool_id, at_ns),"
    " level AS (SELECT pool_id, at_ns, sum(bytes) OVER (PARTITION BY pool_id ORDER BY at_ns) AS bytes FROM instant),"
    " placed AS (SELECT *, row_number() OVER (PARTITION BY pool_id ORDER BY bytes DESC, at_ns) AS place FROM level),"
    " peak AS (SELECT pool_id, bytes, at_ns FROM placed WHERE place = 1 AND bytes > 0)"
    " SELECT p.pool_id, p.process_id, p.name, ifnull(t.blocks, 0) AS allocated_blocks, ifnull(t.bytes, 0) AS allocated_bytes,"
    " ifnull(t.blocks - t.live_blocks, 0) AS freed_blocks, ifnull(t.bytes - t.live_bytes, 0) AS freed_bytes,"
    " ifnull(t.live_blocks, 0) AS live_blocks, ifnull(t.live_bytes, 0) AS live_bytes,"
    " ifnull(k.bytes, 0) AS peak_bytes, k.at_ns AS peak_ns,"
    " NULL AS taken_blocks, NULL AS taken_bytes, NULL AS held_bytes, NULL AS spare_bytes"
    " FROM main.pools AS p LEFT JOIN total AS t ON t.pool_id = p.pool_id LEFT JOIN peak AS k ON k.pool_id = p.pool_id;";

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_unknown(const struct filter_value *value)
{
    static const char *const names[] = {"kind", "mmaped", "arena", "intervening_max"};

    return filter_value_needs(value) & (FILTER_NEEDS_CHAIN | FILTER_NEEDS_TOTALS)
           || is_one_of(value->parameter->name, names, sizeof(names) / sizeof(*names));
}

static int check(const struct filter *filter, struct error *err)
{
    for (size_t i = 0; i < filter->n_values; i++) {
        const struct filter_value *value = &filter->values[i];

        if (is_unknown(value))
            return error_set(
                err, ERROR_USAGE,
                "%s: '%.100s' cannot be used for blocks of pools: they have no kinds, heaps, chains or totals of groups",
                value->parameter->name, value->text);
    }
    return 0;
}

static bool has_times(const struct filter *filter)
{
    static const char *const names[] = {"phase", "window"};

    for (size_t i = 0; i < filter->n_values; i++) {
        if (is_one_of(filter->values[i].parameter->name, names, sizeof(names) / sizeof(*names)))
            return true;
    }
    return false;
}

static int stand_in(struct rundb *database, const char *sql, FILE *show_sql, struct error *err)
{
    if (show_sql)
        (void)fputs(sql, show_sql);
    return rundb_run(database, sql, err);
}

int pool_rows_stand_in(struct rundb *database, const struct filter *filter, FILE *show_sql,
                       struct error *err)
{
    int rc = check(filter, err);

    if (rc == 0)
        rc = stand_in(database, rows_sql, show_sql, err);
    return rc == 0 && has_times(filter) ? stand_in(database, times_sql, show_sql, err) : rc;
}

int pool_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    int rc = filtered_totals_fill_passed(database, filter, "", err);

    return rc == 0 ? rundb_run(database, pools_sql, err) : rc;
}
