/* SPDX-License-Identifier: MIT */
/* statistics_state: saves and loads the state of pass 1. */
#include "importer/totals/statistics.h"

enum {
    VERSION = 4,
    PAIRING_VERSION = 5, /* of parts that contain a pairing */
    MOMENTS_VERSION = 4,
    POOLS_VERSION = 5,
};

/* Data may refer only to processes that the definitions have. */
static struct statistics_room room_begun(const struct statistics *statistics)
{
    struct statistics_room room = statistics->room;

    room.n_processes = statistics->n_processes;
    return room;
}

static void visit_process(struct statistics *statistics, struct process_statistics *own,
                          struct checkpoint_io *io)
{
    const struct statistics_room room = room_begun(statistics);
    struct pairing_process *traits = &own->traits;

    timeline_visit(&own->timeline, io);
    mappings_visit(&own->mappings, &room, io);
    phases_visit(&own->phases, statistics->room.n_threads, io);
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

    checkpoint_io_part(io, CHECKPOINT_STATISTICS, VERSION);
    checkpoint_io_u64(io, &statistics->last_mapping_id);
    checkpoint_io_u64(io, &statistics->n_events);
    checkpoint_io_u64(io, &statistics->estimated_bytes);
    checkpoint_io_u64(io, &statistics->n_unknown_phase_ends);
    checkpoint_io_u64(io, &statistics->n_lost_pool_events);
    checkpoint_io_count(io, &n, statistics->n_processes);
    for (size_t id = 1; id <= n && checkpoint_io_code(io) == 0; id++)
        visit_process(statistics, &statistics->processes[id], io);
    chain_totals_visit(&statistics->chains, statistics->n_processes, statistics->room.n_backtraces,
                       io);
}

static bool has_stack(const void *context, uint32_t process, uint32_t backtrace)
{
    return totals_has_stack(context, process, backtrace);
}

static void visit_groups(struct statistics *statistics, struct checkpoint_io *io)
{
    bool has_groups = statistics->groups != NULL;

    checkpoint_io_bool(io, &has_groups);
    checkpoint_io_check(io, !has_groups || statistics->groups, "groups that are not defined");
    if (has_groups && statistics->groups)
        group_totals_visit(statistics->groups, statistics->n_processes, io);
    for (uint32_t id = 1; !has_groups && statistics->groups && id <= statistics->n_processes; id++)
        if (checkpoint_io_code(io) == 0
            && group_totals_take_root(statistics->groups, statistics->totals, id, NULL) != 0)
            checkpoint_io_no_memory(io);
}

/* Pools need malloc's live blocks to find enclosing ones; they are not saved twice. */
static void put_outer_blocks(struct statistics *statistics, struct checkpoint_io *io)
{
    for (uint32_t id = 1; id <= statistics->n_processes; id++) {
        const struct live_block *block;
        uint32_t cursor = 0;
        while (checkpoint_io_code(io) == 0
               && (block = pairing_next_live(statistics->pairing, id, &cursor)) != NULL)
            if (pool_blocks_put_outer(statistics->pools, id, block, NULL) != 0)
                checkpoint_io_no_memory(io);
    }
}

static void visit_pools(struct statistics *statistics, struct checkpoint_io *io)
{
    bool has_pools = statistics->pools != NULL;

    checkpoint_io_bool(io, &has_pools);
    checkpoint_io_check(io, !has_pools || statistics->pools, "pools that are not defined");
    if (has_pools && statistics->pools)
        pool_blocks_visit(statistics->pools, statistics->n_processes,
                          (uint32_t)statistics->definitions->n_groups, io);
    else if (statistics->pools)
        pool_blocks_begin_late(statistics->pools);
    if (statistics->pools && checkpoint_io_is_loading(io))
        put_outer_blocks(statistics, io);
}

void statistics_visit(struct statistics *statistics, struct checkpoint_io *io)
{
    const struct statistics_room room = room_begun(statistics);
    const struct live_table_max most = {.n_backtraces = room.n_backtraces,
                                        .n_processes = room.n_processes,
                                        .n_groups = (uint32_t)statistics->definitions->n_groups,
                                        .has_stack = has_stack,
                                        .context = statistics->totals};

    if (statistics->lifetimes)
        checkpoint_io_refuse(io, ERROR_BUG, "rows are kept, which no state has");
    visit_own(statistics, io);
    checkpoint_io_part(io, CHECKPOINT_TOTALS, VERSION);
    totals_visit(statistics->totals, io);
    checkpoint_io_part(io, CHECKPOINT_PAIRING, PAIRING_VERSION);
    pairing_visit(statistics->pairing, &most, io);
    checkpoint_io_part(io, CHECKPOINT_GROUPS, VERSION);
    visit_groups(statistics, io);
    checkpoint_io_part(io, CHECKPOINT_POOLS, POOLS_VERSION);
    visit_pools(statistics, io);
    checkpoint_io_part(io, CHECKPOINT_WALKS, VERSION);
    object_walks_visit(&statistics->walks, &room, io);
    checkpoint_io_part(io, CHECKPOINT_HEAPS, VERSION);
    heap_ranges_visit(statistics->heaps, room.n_processes, io);
    checkpoint_io_part(io, CHECKPOINT_SNAPSHOTS, VERSION);
    snapshots_visit(statistics->snapshots, statistics->totals, io);
    checkpoint_io_part(io, CHECKPOINT_SAMPLES, VERSION);
    memory_samples_visit(statistics->memory_samples, io);
    checkpoint_io_part(io, CHECKPOINT_MOMENTS, MOMENTS_VERSION);
    moment_blocks_visit(statistics->blocks, &room, io);
}
