/* SPDX-License-Identifier: MIT */
#include "importer/totals/snapshots.h"

#include "importer/pairing/spill_file.h"
#include "lib/base/dynamic_array.h"
#include "lib/totals/report_classes.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    MAX_SHIFT = 56 /* years */
};

/* Live sums of the process's stack `number`. */
struct change {
    uint64_t live_bytes, live_blocks;
    uint32_t number;
    uint32_t reserved; /* 0 */
};

/* A snapshot: its changes since the one before are in the file. */
struct taken {
    uint64_t at_ns;
    uint64_t offset;
    size_t n_changes;
};

struct plan {
    uint64_t start_ns;    /* of the process, plus the unrecorded time so far */
    uint64_t next_ns;     /* UINT64_MAX: not begun, or paused */
    uint64_t recorded_ns; /* while paused: end of the recorded time */
    bool is_paused;
    unsigned shift;
    unsigned n_taken;
    struct taken taken[SNAPSHOTS_MAX];
};

struct snapshots {
    snapshots_fn *reported;
    void *context;
    bool leaves_order;
    struct plan *plans; /* by process */
    struct spill_file file;
    struct change *changes; /* of one snapshot */
    size_t changes_capacity;
    struct snapshot_stack *stacks;
    size_t n_stacks, stacks_capacity;
    uint64_t last_id;
};

int snapshots_new(uint32_t n_processes, const char *target, snapshots_fn *reported, void *context,
                  struct snapshots **ret, struct error *err)
{
    struct snapshots *snapshots = calloc(1, sizeof *snapshots);

    if (!snapshots)
        return error_set(err, ERROR_NOMEM, "out of memory for snapshots");
    snapshots->reported = reported;
    snapshots->context = context;
    snapshots->plans = calloc((size_t)n_processes + 1, sizeof *snapshots->plans);
    int code = spill_file_open(&snapshots->file, target, err);
    if (code == 0 && !snapshots->plans)
        code = error_set(err, ERROR_NOMEM, "out of memory for snapshots");
    if (code) {
        snapshots_free(snapshots);
        return code;
    }
    for (uint32_t i = 0; i <= n_processes; i++)
        snapshots->plans[i].next_ns = UINT64_MAX;
    *ret = snapshots;
    return 0;
}

void snapshots_leave_order(struct snapshots *snapshots)
{
    snapshots->leaves_order = true;
}

void snapshots_free(struct snapshots *snapshots)
{
    if (!snapshots)
        return;
    free(snapshots->plans);
    free(snapshots->changes);
    free(snapshots->stacks);
    spill_file_done(&snapshots->file);
    free(snapshots);
}

/* Number of snapshot times before now_ns. */
static uint64_t n_passed(const struct plan *plan, uint64_t now_ns)
{
    return now_ns > plan->start_ns ? (now_ns - 1 - plan->start_ns) >> plan->shift : 0;
}

/* Recorded time until the snapshot `number`. Saturates, as times in a damaged log may be wrong. */
static uint64_t taken_ns(const struct plan *plan, unsigned number)
{
    uint64_t n = (uint64_t)number + 1;

    return n > UINT64_MAX >> plan->shift ? UINT64_MAX : n << plan->shift;
}

static void plan_next(struct plan *plan)
{
    uint64_t passed_ns = taken_ns(plan, plan->n_taken);

    plan->next_ns =
        passed_ns > UINT64_MAX - plan->start_ns ? UINT64_MAX : plan->start_ns + passed_ns;
}

void snapshots_plan(struct snapshots *snapshots, uint32_t process, uint64_t start_ns)
{
    struct plan *plan = &snapshots->plans[process];

    *plan = (struct plan){.start_ns = start_ns, .shift = REPORT_GRID_FIRST_SHIFT};
    plan_next(plan);
}

void snapshots_pause(struct snapshots *snapshots, uint32_t process, uint64_t now_ns)
{
    struct plan *plan = &snapshots->plans[process];

    if (plan->is_paused)
        return;
    plan->is_paused = true;
    plan->recorded_ns = now_ns > plan->start_ns ? now_ns - plan->start_ns : 0;
    plan->next_ns = UINT64_MAX;
}

void snapshots_resume(struct snapshots *snapshots, uint32_t process, uint64_t now_ns)
{
    struct plan *plan = &snapshots->plans[process];

    if (!plan->is_paused)
        return;
    plan->is_paused = false;
    plan->start_ns = now_ns > plan->recorded_ns ? now_ns - plan->recorded_ns : 0;
    plan_next(plan);
}

/* ---- the file ---- */

static bool has_changed(const struct stack_totals *stack, uint64_t live_bytes, uint64_t live_blocks)
{
    return stack->snapshot_bytes != live_bytes || stack->snapshot_blocks != live_blocks;
}

static void begin_taken(struct snapshots *snapshots, struct taken *taken, uint64_t at_ns)
{
    *taken = (struct taken){.at_ns = at_ns, .offset = snapshots->file.size_bytes};
}

/* Stores the stack's sums, unless the previous snapshot has the same. */
static int put_change(struct snapshots *snapshots, struct taken *taken, struct stack_totals *stack,
                      const struct change *change, struct error *err)
{
    if (!has_changed(stack, change->live_bytes, change->live_blocks))
        return 0;
    stack->snapshot_bytes = change->live_bytes;
    stack->snapshot_blocks = change->live_blocks;
    taken->n_changes++;
    return spill_file_append(&snapshots->file, change, sizeof *change, err);
}

/* Reads into snapshots->changes. The file must have been flushed. */
static int read_changes(struct snapshots *snapshots, const struct taken *taken, struct error *err)
{
    size_t n_bytes = taken->n_changes * sizeof(struct change);
    size_t n_read;
    struct change *changes = dynamic_array_reserve(snapshots->changes, &snapshots->changes_capacity,
                                                   taken->n_changes + 1, sizeof *changes);

    if (!changes)
        return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %zu stacks",
                         taken->n_changes);
    snapshots->changes = changes;
    int code = spill_file_read(&snapshots->file, taken->offset, changes, n_bytes, &n_read, err);
    if (code == 0 && n_read < n_bytes)
        code = error_set(err, ERROR_IO, "a temporary file is shorter than what was written to it");
    return code;
}

static int take_regular(struct snapshots *snapshots, struct process_totals *process,
                        struct plan *plan, struct error *err)
{
    struct taken *taken = &plan->taken[plan->n_taken++];
    int code = 0;

    begin_taken(snapshots, taken, plan->next_ns);
    for (size_t i = 0; code == 0 && i < process->n_changed; i++) {
        struct stack_totals *stack = process->changed[i];
        struct change now = {stack->live_bytes, stack->live_blocks,
                             totals_stack_number(process, stack->backtrace), 0};
        code = put_change(snapshots, taken, stack, &now, err);
    }
    process->n_changed = 0;
    process->reported_epoch = taken->at_ns + 1;
    plan_next(plan);
    return code;
}

/* Lists the stacks that changed since the last stored snapshot. */
static void list_changed(struct process_totals *process, const struct plan *plan)
{
    totals_list_changed(process, plan->n_taken ? plan->taken[plan->n_taken - 1].at_ns + 1 : 0);
}

/* Resets the stacks to the time before any snapshot. */
static void forget_changes(const struct process_totals *process)
{
    for (uint32_t i = 0; i < process->n_stacks; i++) {
        struct stack_totals *stack = totals_stack(process, i);
        stack->snapshot_bytes = stack->snapshot_blocks = 0;
    }
}

/* Stores `states` of the stacks in the first taken->n_changes of snapshots->changes. */
static int put_states(struct snapshots *snapshots, const struct process_totals *process,
                      const struct taken *taken, const struct change *states, struct taken *into,
                      struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < taken->n_changes; i++) {
        uint32_t number = snapshots->changes[i].number;
        code = put_change(snapshots, into, totals_stack(process, number), &states[number], err);
    }
    return code;
}

/* Keeps every second snapshot: each stores the stacks changed in it and in the dropped one before
 * it. `states` has the sums of all stacks. */
static int put_every_other(struct snapshots *snapshots, const struct process_totals *process,
                           struct plan *plan, struct change *states, struct error *err)
{
    struct taken before = {0};
    unsigned n_kept = 0;
    int code = spill_file_flush(&snapshots->file, err);

    for (unsigned i = 0; code == 0 && i < plan->n_taken; i++) {
        const struct taken from = plan->taken[i];
        struct taken *into = &plan->taken[n_kept];
        code = read_changes(snapshots, &from, err);
        for (size_t k = 0; code == 0 && k < from.n_changes; k++)
            states[snapshots->changes[k].number] = snapshots->changes[k];
        if (code == 0 && i % 2 == 1) {
            n_kept++;
            begin_taken(snapshots, into, from.at_ns);
            code = put_states(snapshots, process, &from, states, into, err);
            code = code ? code : read_changes(snapshots, &before, err);
            code = code ? code : put_states(snapshots, process, &before, states, into, err);
        }
        before = from;
    }
    plan->n_taken = n_kept;
    return code;
}

static int widen(struct snapshots *snapshots, struct process_totals *process, struct plan *plan,
                 struct error *err)
{
    int code = 0;

    plan->shift++;
    if (plan->n_taken > 0) {
        struct change *states = malloc((process->n_stacks + 1) * sizeof *states);
        if (!states)
            return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %u stacks",
                             process->n_stacks);
        for (uint32_t i = 0; i < process->n_stacks; i++)
            states[i] = (struct change){.number = i};
        forget_changes(process);
        code = put_every_other(snapshots, process, plan, states, err);
        list_changed(process, plan);
        free(states);
    }
    plan_next(plan);
    return code;
}

uint64_t snapshots_next_ns(const struct snapshots *snapshots, uint32_t process)
{
    return snapshots->plans[process].next_ns;
}

int snapshots_advance(struct snapshots *snapshots, const struct totals *totals, uint32_t process_id,
                      uint64_t now_ns, struct error *err)
{
    struct process_totals *process = &totals->processes[process_id];
    struct plan *plan = &snapshots->plans[process_id];
    int code = 0;

    if (now_ns <= plan->next_ns)
        return 0;
    while (code == 0 && n_passed(plan, now_ns) >= SNAPSHOTS_MAX)
        code = widen(snapshots, process, plan, err);
    while (code == 0 && plan->next_ns < now_ns)
        code = take_regular(snapshots, process, plan, err);
    return code;
}

/* ---- emitting ---- */

static void begin(struct snapshots *snapshots)
{
    snapshots->n_stacks = 0;
    snapshots->last_id++;
}

static int add_stack(struct snapshots *snapshots, uint32_t backtrace, uint64_t live_bytes,
                     uint64_t live_blocks, struct error *err)
{
    struct snapshot_stack *stacks = dynamic_array_reserve(
        snapshots->stacks, &snapshots->stacks_capacity, snapshots->n_stacks + 1, sizeof *stacks);

    if (!stacks)
        return error_set(err, ERROR_NOMEM, "out of memory for a snapshot of %zu stacks",
                         snapshots->n_stacks);
    snapshots->stacks = stacks;
    stacks[snapshots->n_stacks++] = (struct snapshot_stack){
        .snapshot_id = snapshots->last_id,
        .live_bytes = live_bytes,
        .live_blocks = live_blocks,
        .backtrace = backtrace,
    };
    return 0;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct snapshot_stack *a = left;
    const struct snapshot_stack *b = right;

    return (a->backtrace > b->backtrace) - (a->backtrace < b->backtrace);
}

static int emit(struct snapshots *snapshots, uint32_t process, uint64_t at_ns, const char *reason,
                struct error *err)
{
    struct snapshot snapshot = {.id = snapshots->last_id,
                                .at_ns = at_ns,
                                .reason = reason,
                                .process = process,
                                .n_stacks = snapshots->n_stacks,
                                .stacks = snapshots->stacks};

    if (snapshots->n_stacks && !snapshots->leaves_order)
        qsort(snapshots->stacks, snapshots->n_stacks, sizeof *snapshots->stacks, compare_stacks);
    return snapshots->reported(snapshots->context, &snapshot, err);
}

static int emit_regular(struct snapshots *snapshots, const struct process_totals *process,
                        uint32_t process_id, const struct taken *taken, struct error *err)
{
    int code = read_changes(snapshots, taken, err);

    begin(snapshots);
    for (size_t i = 0; code == 0 && i < taken->n_changes; i++) {
        const struct change *change = &snapshots->changes[i];
        struct stack_totals *stack = totals_stack(process, change->number);
        stack->snapshot_bytes = change->live_bytes;
        stack->snapshot_blocks = change->live_blocks;
        code = add_stack(snapshots, stack->backtrace, change->live_bytes, change->live_blocks, err);
    }
    return code ? code : emit(snapshots, process_id, taken->at_ns, "regular", err);
}

/* Emits the regular snapshots before the tail (SN-2). */
static int emit_all_regular(struct snapshots *snapshots, const struct process_totals *process,
                            uint32_t process_id, uint64_t end_ns, struct error *err)
{
    const struct plan *plan = &snapshots->plans[process_id];
    uint64_t all_ns = plan->is_paused           ? plan->recorded_ns
                      : end_ns > plan->start_ns ? end_ns - plan->start_ns
                                                : 0;
    uint64_t until_ns = all_ns - all_ns / SNAPSHOTS_TAIL;
    int code = spill_file_flush(&snapshots->file, err);

    forget_changes(process);
    for (unsigned i = 0; code == 0 && i < plan->n_taken && taken_ns(plan, i) <= until_ns; i++)
        code = emit_regular(snapshots, process, process_id, &plan->taken[i], err);
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
            code =
                add_stack(snapshots, stack->backtrace, stack->peak_bytes, stack->peak_blocks, err);
    }
    return code ? code : emit(snapshots, process_id, process->peak_ns, "peak", err);
}

static int take_end(struct snapshots *snapshots, const struct process_totals *process,
                    uint32_t process_id, uint64_t end_ns, struct error *err)
{
    int code = 0;

    begin(snapshots);
    for (uint32_t i = 0; code == 0 && i < process->n_stacks; i++) {
        const struct stack_totals *stack = totals_stack(process, i);
        if (stack->live_blocks
            || stack->snapshot_blocks) /* also if freed since the last snapshot */
            code =
                add_stack(snapshots, stack->backtrace, stack->live_bytes, stack->live_blocks, err);
    }
    return code ? code : emit(snapshots, process_id, end_ns, "end", err);
}

int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process_id,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err)
{
    const struct process_totals *process = &totals->processes[process_id];
    int code = emit_all_regular(snapshots, process, process_id, end_ns, err);

    *ret_peak_id = 0;
    if (code == 0 && process->peak_ns != TOTALS_NEVER) {
        code = take_peak(snapshots, process, process_id, err);
        *ret_peak_id = snapshots->last_id;
    }
    if (code == 0)
        code = take_end(snapshots, process, process_id, end_ns, err);
    *ret_end_id = snapshots->last_id;
    return code;
}

/* ---- checkpoint ---- */

static void save_changes(struct snapshots *snapshots, const struct taken *taken,
                         struct checkpoint_io *io)
{
    if (checkpoint_io_code(io) == 0 && read_changes(snapshots, taken, NULL) != 0)
        checkpoint_io_refuse(io, ERROR_IO, "a temporary file cannot be read");
    if (checkpoint_io_code(io) == 0)
        checkpoint_io_bytes(io, snapshots->changes, taken->n_changes * sizeof(struct change));
}

static void load_changes(struct snapshots *snapshots, struct taken *taken, size_t n,
                         uint32_t n_stacks, struct checkpoint_io *io)
{
    begin_taken(snapshots, taken, taken->at_ns);
    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++) {
        struct change change;
        checkpoint_io_bytes(io, &change, sizeof change);
        checkpoint_io_check(io, change.number < n_stacks, "a stack of a snapshot");
        if (checkpoint_io_code(io) == 0
            && spill_file_append(&snapshots->file, &change, sizeof change, NULL) != 0)
            checkpoint_io_refuse(io, ERROR_IO, "a temporary file cannot be written");
        taken->n_changes++;
    }
}

static void visit_plan(struct snapshots *snapshots, struct plan *plan, uint32_t n_stacks,
                       struct checkpoint_io *io)
{
    uint32_t shift = plan->shift;
    size_t n_taken = plan->n_taken;

    checkpoint_io_u64(io, &plan->start_ns);
    checkpoint_io_u64(io, &plan->next_ns);
    checkpoint_io_u64(io, &plan->recorded_ns);
    checkpoint_io_bool(io, &plan->is_paused);
    checkpoint_io_u32(io, &shift);
    checkpoint_io_count(io, &n_taken, SNAPSHOTS_MAX);
    checkpoint_io_check(io,
                        shift <= MAX_SHIFT && (!plan->is_paused || plan->next_ns == UINT64_MAX)
                            && plan->next_ns
                                   == (plan->next_ns == UINT64_MAX
                                           ? UINT64_MAX
                                           : plan->start_ns + (((uint64_t)n_taken + 1) << shift)),
                        "how often snapshots are taken");
    plan->shift = shift;
    plan->n_taken = (unsigned)n_taken;
    for (size_t i = 0; i < n_taken && checkpoint_io_code(io) == 0; i++) {
        struct taken *taken = &plan->taken[i];
        size_t n = taken->n_changes;
        checkpoint_io_u64(io, &taken->at_ns);
        checkpoint_io_count(io, &n, n_stacks);
        if (checkpoint_io_is_loading(io))
            load_changes(snapshots, taken, n, n_stacks, io);
        else
            save_changes(snapshots, taken, io);
    }
}

void snapshots_visit(struct snapshots *snapshots, const struct totals *totals,
                     struct checkpoint_io *io)
{
    size_t n = totals->n_processes;

    if (!checkpoint_io_is_loading(io) && spill_file_flush(&snapshots->file, NULL) != 0)
        checkpoint_io_refuse(io, ERROR_IO, "a temporary file cannot be written");
    checkpoint_io_count(io, &n, totals->n_processes);
    for (size_t id = 1; id <= n && checkpoint_io_code(io) == 0; id++) {
        visit_plan(snapshots, &snapshots->plans[id], totals->processes[id].n_stacks, io);
        if (checkpoint_io_is_loading(io))
            list_changed(&totals->processes[id], &snapshots->plans[id]);
    }
}
