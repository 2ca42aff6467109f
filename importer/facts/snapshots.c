/* SPDX-License-Identifier: MIT */
#include "importer/facts/snapshots.h"

#include "importer/tables/bulk_insert.h"
#include "importer/tables/database.h"

#include <stdlib.h>

struct plan {
    uint64_t start_ns;
    uint64_t interval_ns;
    uint64_t next_ns; /* UINT64_MAX: no more */
    unsigned n_taken;
};

struct stack_row {
    uint64_t snapshot_id;
    uint64_t live_bytes, live_blocks;
    uint32_t node;
};

struct snapshots {
    sqlite3_stmt *insert_snapshot;
    struct bulk_insert *insert_stacks;
    struct plan *plans; /* by process */
    struct stack_row *rows;
    size_t n_rows, max_rows;
    uint64_t last_id;
};

static void stack_column(const void *row, int column, sqlite3_context *context)
{
    const struct stack_row *stack = row;
    const uint64_t values[] = {stack->snapshot_id, stack->node, stack->live_bytes,
                               stack->live_blocks};

    sqlite3_result_int64(context, (sqlite3_int64)values[column]);
}

int snapshots_new(sqlite3 *db, uint32_t n_processes, struct snapshots **ret, struct error *err)
{
    struct snapshots *snapshots = calloc(1, sizeof *snapshots);

    if (snapshots)
        snapshots->plans = calloc((size_t)n_processes + 1, sizeof *snapshots->plans);
    if (!snapshots || !snapshots->plans) {
        snapshots_free(snapshots);
        return error_set(err, ERROR_NOMEM, "out of memory for snapshots");
    }
    for (uint32_t i = 0; i <= n_processes; i++)
        snapshots->plans[i].next_ns = UINT64_MAX;
    int code = database_prepare(db, "INSERT INTO snapshots VALUES (?, ?, ?, ?)",
                                &snapshots->insert_snapshot, err);
    if (code == 0)
        code = bulk_insert_open(
            db, "snapshot_backtraces(snapshot_id, backtrace_id, live_bytes, live_blocks)", 4,
            stack_column, sizeof(struct stack_row), &snapshots->insert_stacks, err);
    if (code) {
        snapshots_free(snapshots);
        return code;
    }
    *ret = snapshots;
    return 0;
}

void snapshots_free(struct snapshots *snapshots)
{
    if (!snapshots)
        return;
    sqlite3_finalize(snapshots->insert_snapshot);
    bulk_insert_close(snapshots->insert_stacks);
    free(snapshots->plans);
    free(snapshots->rows);
    free(snapshots);
}

void snapshots_plan(struct snapshots *snapshots, uint32_t process, uint64_t start_ns,
                    uint64_t end_ns)
{
    struct plan *plan = &snapshots->plans[process];

    plan->start_ns = start_ns;
    plan->interval_ns = end_ns > start_ns ? (end_ns - start_ns) / SNAPSHOTS_REGULAR : 0;
    plan->next_ns = plan->interval_ns ? start_ns + plan->interval_ns : UINT64_MAX;
}

/* ---- rows ---- */

static int add_row(struct snapshots *snapshots, uint32_t node, uint64_t live_bytes,
                   uint64_t live_blocks, struct error *err)
{
    if (snapshots->n_rows == snapshots->max_rows) {
        size_t max_rows = snapshots->max_rows ? snapshots->max_rows * 2 : 1024;
        struct stack_row *rows = realloc(snapshots->rows, max_rows * sizeof *rows);
        if (!rows)
            return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %zu stacks",
                             max_rows);
        snapshots->rows = rows;
        snapshots->max_rows = max_rows;
    }
    snapshots->rows[snapshots->n_rows++] = (struct stack_row){
        .snapshot_id = snapshots->last_id,
        .live_bytes = live_bytes,
        .live_blocks = live_blocks,
        .node = node,
    };
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct stack_row *a = left;
    const struct stack_row *b = right;

    return (a->node > b->node) - (a->node < b->node);
}

static int begin(struct snapshots *snapshots, uint32_t process, uint64_t at_ns, const char *reason,
                 struct error *err)
{
    snapshots->n_rows = 0;
    return database_insert(snapshots->insert_snapshot, err, "uuut", ++snapshots->last_id,
                           (uint64_t)process, at_ns, reason);
}

/* In order of the key, so that SQLite appends. */
static int write_rows(struct snapshots *snapshots, struct error *err)
{
    if (snapshots->n_rows == 0)
        return 0;
    qsort(snapshots->rows, snapshots->n_rows, sizeof *snapshots->rows, compare_rows);
    return bulk_insert_rows(snapshots->insert_stacks, snapshots->rows, snapshots->n_rows, err);
}

static int take_regular(struct snapshots *snapshots, const struct process_totals *process,
                        uint32_t process_id, uint64_t at_ns, struct error *err)
{
    int code = begin(snapshots, process_id, at_ns, "regular", err);

    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
        struct stack_totals *stack = totals_stack(process, i);
        if (stack->live_bytes == stack->snapshot_bytes
            && stack->live_blocks == stack->snapshot_blocks)
            continue;
        stack->snapshot_bytes = stack->live_bytes;
        stack->snapshot_blocks = stack->live_blocks;
        code = add_row(snapshots, stack->node, stack->live_bytes, stack->live_blocks, err);
    }
    return code ? code : write_rows(snapshots, err);
}

int snapshots_advance(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                      uint64_t now_ns, struct error *err)
{
    struct plan *plan = &snapshots->plans[process];
    int code = 0;

    while (code == 0 && plan->next_ns < now_ns) {
        code = take_regular(snapshots, &totals->processes[process], process, plan->next_ns, err);
        plan->next_ns += plan->interval_ns;
        if (++plan->n_taken == SNAPSHOTS_REGULAR - 1)
            plan->next_ns = UINT64_MAX;
    }
    return code;
}

int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process_id,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err)
{
    const struct process_totals *process = &totals->processes[process_id];
    int code = 0;

    *ret_peak_id = 0;
    if (process->peak_ns != TOTALS_NEVER) {
        code = begin(snapshots, process_id, process->peak_ns, "peak", err);
        *ret_peak_id = snapshots->last_id;
        for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
            const struct stack_totals *stack = totals_stack(process, i);
            if (stack->peak_blocks)
                code = add_row(snapshots, stack->node, stack->peak_bytes, stack->peak_blocks, err);
        }
        if (code == 0)
            code = write_rows(snapshots, err);
    }
    if (code == 0)
        code = begin(snapshots, process_id, end_ns, "end", err);
    *ret_end_id = snapshots->last_id;
    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        if (stack->live_blocks || stack->snapshot_blocks) /* also what ended since the last one */
            code = add_row(snapshots, stack->node, stack->live_bytes, stack->live_blocks, err);
    }
    return code ? code : write_rows(snapshots, err);
}
