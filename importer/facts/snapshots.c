/* SPDX-License-Identifier: MIT */
#include "importer/facts/snapshots.h"

#include "support/growing.h"

#include <stdlib.h>

struct plan {
    uint64_t start_ns;
    uint64_t interval_ns;
    uint64_t next_ns; /* UINT64_MAX: no more */
    unsigned n_taken;
};

struct snapshots {
    snapshots_fn *taken;
    void *context;
    struct plan *plans; /* by process */
    struct snapshot_stack *stacks;
    size_t n_stacks, stacks_capacity;
    uint64_t last_id;
};

int snapshots_new(uint32_t n_processes, snapshots_fn *taken, void *context, struct snapshots **ret,
                  struct error *err)
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
    snapshots->taken = taken;
    snapshots->context = context;
    *ret = snapshots;
    return 0;
}

void snapshots_free(struct snapshots *snapshots)
{
    if (!snapshots)
        return;
    free(snapshots->plans);
    free(snapshots->stacks);
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

static void begin(struct snapshots *snapshots)
{
    snapshots->n_stacks = 0;
    snapshots->last_id++;
}

static int add_stack(struct snapshots *snapshots, uint32_t node, uint64_t live_bytes,
                     uint64_t live_blocks, struct error *err)
{
    struct snapshot_stack *stacks = growing_reserve(snapshots->stacks, &snapshots->stacks_capacity,
                                                    snapshots->n_stacks + 1, sizeof *stacks);

    if (!stacks)
        return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %zu stacks",
                         snapshots->n_stacks);
    snapshots->stacks = stacks;
    stacks[snapshots->n_stacks++] = (struct snapshot_stack){
        .snapshot_id = snapshots->last_id,
        .live_bytes = live_bytes,
        .live_blocks = live_blocks,
        .node = node,
    };
    return 0;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct snapshot_stack *a = left;
    const struct snapshot_stack *b = right;

    return (a->node > b->node) - (a->node < b->node);
}

static int tell(struct snapshots *snapshots, uint32_t process, uint64_t at_ns, const char *reason,
                struct error *err)
{
    struct snapshot snapshot = {.id = snapshots->last_id,
                                .at_ns = at_ns,
                                .reason = reason,
                                .process = process,
                                .n_stacks = snapshots->n_stacks,
                                .stacks = snapshots->stacks};

    if (snapshots->n_stacks)
        qsort(snapshots->stacks, snapshots->n_stacks, sizeof *snapshots->stacks, compare_stacks);
    return snapshots->taken(snapshots->context, &snapshot, err);
}

static int take_regular(struct snapshots *snapshots, const struct process_totals *process,
                        uint32_t process_id, uint64_t at_ns, struct error *err)
{
    int code = 0;

    begin(snapshots);
    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
        struct stack_totals *stack = totals_stack(process, i);
        if (stack->live_bytes == stack->snapshot_bytes
            && stack->live_blocks == stack->snapshot_blocks)
            continue;
        stack->snapshot_bytes = stack->live_bytes;
        stack->snapshot_blocks = stack->live_blocks;
        code = add_stack(snapshots, stack->node, stack->live_bytes, stack->live_blocks, err);
    }
    return code ? code : tell(snapshots, process_id, at_ns, "regular", err);
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

static int take_peak(struct snapshots *snapshots, const struct process_totals *process,
                     uint32_t process_id, struct error *err)
{
    int code = 0;

    begin(snapshots);
    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        if (stack->peak_blocks)
            code = add_stack(snapshots, stack->node, stack->peak_bytes, stack->peak_blocks, err);
    }
    return code ? code : tell(snapshots, process_id, process->peak_ns, "peak", err);
}

static int take_end(struct snapshots *snapshots, const struct process_totals *process,
                    uint32_t process_id, uint64_t end_ns, struct error *err)
{
    int code = 0;

    begin(snapshots);
    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        if (stack->live_blocks || stack->snapshot_blocks) /* also what ended since the last one */
            code = add_stack(snapshots, stack->node, stack->live_bytes, stack->live_blocks, err);
    }
    return code ? code : tell(snapshots, process_id, end_ns, "end", err);
}

int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process_id,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err)
{
    const struct process_totals *process = &totals->processes[process_id];
    int code = 0;

    *ret_peak_id = 0;
    if (process->peak_ns != TOTALS_NEVER) {
        code = take_peak(snapshots, process, process_id, err);
        *ret_peak_id = snapshots->last_id;
    }
    if (code == 0)
        code = take_end(snapshots, process, process_id, end_ns, err);
    *ret_end_id = snapshots->last_id;
    return code;
}
