/* SPDX-License-Identifier: MIT */
/* statistics_state: saves and loads the state of pass 1. */
#include "importer/totals/statistics.h"

static void visit_process(struct process_statistics *own, struct checkpoint_io *io)
{
    struct pairing_process *traits = &own->traits;

    timeline_visit(&own->timeline, io);
    mappings_visit(&own->mappings, io);
    windows_visit(&own->windows, io);
    checkpoint_io_u64(io, &own->allocated_bytes);
    checkpoint_io_u64(io, &own->n_events);
    checkpoint_io_u64(io, &own->last_ns);
    checkpoint_io_u64(io, &own->event_ns);
    checkpoint_io_bool(io, &own->has_exec);
    checkpoint_io_bool(io, &own->has_ended);
    checkpoint_io_bool(io, &own->is_untraced);
    checkpoint_io_bool(io, &own->was_untraced);
    address_ranges_visit(&own->mapped_blocks, io);
    checkpoint_io_u64(io, &own->lowest_break);
    checkpoint_io_bool(io, &traits->is_forked);
    checkpoint_io_bool(io, &traits->has_untracked_blocks);
    checkpoint_io_bool(io, &traits->has_lost_events);
    checkpoint_io_bool(io, &traits->is_untraced);
    checkpoint_io_bool(io, &traits->ended_in_exec);
}

static void visit_own(struct statistics *statistics, struct checkpoint_io *io)
{
    size_t n = statistics->n_processes;

    checkpoint_io_u64(io, &statistics->last_mapping_id);
    checkpoint_io_u64(io, &statistics->n_events);
    checkpoint_io_u64(io, &statistics->estimated_bytes);
    CHECKPOINT_IMAGE(io, &statistics->n_ignored);
    checkpoint_io_count(io, &n, statistics->n_processes);
    for (size_t id = 1; id <= n && checkpoint_io_code(io) == 0; id++)
        visit_process(&statistics->processes[id], io);
    chain_totals_visit(&statistics->chains, io);
}

static void visit_groups(struct statistics *statistics, struct checkpoint_io *io)
{
    bool has_groups = statistics->groups != NULL;

    checkpoint_io_bool(io, &has_groups);
    if (has_groups && statistics->groups)
        group_totals_visit(statistics->groups, io);
    for (uint32_t id = 1; !has_groups && statistics->groups && id <= statistics->n_processes; id++)
        if (checkpoint_io_code(io) == 0
            && group_totals_take_root(statistics->groups, statistics->totals, id, NULL) != 0)
            checkpoint_io_no_memory(io);
}

void statistics_visit(struct statistics *statistics, struct checkpoint_io *io)
{
    if (statistics->lifetimes)
        checkpoint_io_refuse(io, ERROR_BUG, "rows are kept, which no state has");
    visit_own(statistics, io);
    totals_visit(statistics->totals, io);
    pairing_visit(statistics->pairing, io);
    visit_groups(statistics, io);
    heap_ranges_visit(statistics->heaps, io);
    snapshots_visit(statistics->snapshots, statistics->totals, io);
    memory_samples_visit(statistics->memory_samples, io);
    moment_blocks_visit(statistics->blocks, io);
}
