/* SPDX-License-Identifier: MIT */
/* facts_state: saves and loads the state of pass 1. */
#include "importer/totals/statistics.h"

enum {
    VERSION = 3,
    PAIRING_VERSION = 4, /* of parts that contain a pairing */
    MOMENTS_VERSION = 4,
    POOLS_VERSION = 5,
};

/* Data may refer only to processes that the definitions have. */
static struct statistics_room room_begun(const struct statistics *facts)
{
    struct statistics_room room = facts->room;

    room.n_processes = facts->n_processes;
    return room;
}

static void visit_process(struct statistics *facts, struct process_facts *own,
                          struct checkpoint_io *io)
{
    const struct statistics_room room = room_begun(facts);
    struct pairing_process *traits = &own->traits;

    timeline_visit(&own->timeline, io);
    mappings_visit(&own->mappings, &room, io);
    phases_visit(&own->phases, facts->room.n_threads, io);
    windows_visit(&own->windows, io);
    state_u64(io, &own->allocated_bytes);
    state_u64(io, &own->n_events);
    state_u64(io, &own->last_ns);
    state_u64(io, &own->event_ns);
    state_bool(io, &own->has_exec);
    state_bool(io, &own->has_ended);
    state_bool(io, &own->is_untraced);
    state_bool(io, &own->was_untraced);
    state_u64(io, &own->mapped_block_bytes);
    state_u64(io, &own->heap_block_bytes);
    state_u64(io, &own->lowest_break);
    state_bool(io, &traits->is_forked);
    state_bool(io, &traits->has_untracked_blocks);
    state_bool(io, &traits->has_lost_events);
    state_bool(io, &traits->is_untraced);
    state_bool(io, &traits->ended_in_exec);
}

static void visit_own(struct statistics *facts, struct checkpoint_io *io)
{
    size_t n = facts->n_processes;

    state_part(io, STATE_FACTS, VERSION);
    state_u64(io, &facts->last_mapping_id);
    state_u64(io, &facts->n_events);
    state_u64(io, &facts->estimated_bytes);
    state_u64(io, &facts->n_unknown_phase_ends);
    state_u64(io, &facts->n_lost_pool_events);
    state_count(io, &n, facts->n_processes);
    for (size_t id = 1; id <= n && checkpoint_io_code(io) == 0; id++)
        visit_process(facts, &facts->processes[id], io);
    chain_totals_visit(&facts->chains, facts->n_processes, facts->room.n_nodes, io);
}

static bool has_stack(const void *context, uint32_t process, uint32_t node)
{
    return totals_has_stack(context, process, node);
}

static void visit_groups(struct statistics *facts, struct checkpoint_io *io)
{
    bool has_groups = facts->groups != NULL;

    state_bool(io, &has_groups);
    state_check(io, !has_groups || facts->groups, "groups that are not defined");
    if (has_groups && facts->groups)
        group_totals_visit(facts->groups, facts->n_processes, io);
    for (uint32_t id = 1; !has_groups && facts->groups && id <= facts->n_processes; id++)
        if (checkpoint_io_code(io) == 0
            && group_totals_take_root(facts->groups, facts->totals, id, NULL) != 0)
            state_no_memory(io);
}

/* Pools need malloc's live blocks to find enclosing ones; they are not saved twice. */
static void put_outer_blocks(struct statistics *facts, struct checkpoint_io *io)
{
    for (uint32_t id = 1; id <= facts->n_processes; id++) {
        const struct live_block *block;
        uint32_t cursor = 0;
        while (checkpoint_io_code(io) == 0
               && (block = pairing_next_live(facts->pairing, id, &cursor)) != NULL)
            if (pool_blocks_put_outer(facts->pools, id, block, NULL) != 0)
                state_no_memory(io);
    }
}

static void visit_pools(struct statistics *facts, struct checkpoint_io *io)
{
    bool has_pools = facts->pools != NULL;

    state_bool(io, &has_pools);
    state_check(io, !has_pools || facts->pools, "pools that are not defined");
    if (has_pools && facts->pools)
        pool_blocks_visit(facts->pools, facts->n_processes, (uint32_t)facts->definitions->n_groups,
                          io);
    else if (facts->pools)
        pool_blocks_begin_late(facts->pools);
    if (facts->pools && checkpoint_io_is_loading(io))
        put_outer_blocks(facts, io);
}

void statistics_visit(struct statistics *facts, struct checkpoint_io *io)
{
    const struct statistics_room room = room_begun(facts);
    const struct live_table_most most = {.n_nodes = room.n_nodes,
                                         .n_processes = room.n_processes,
                                         .n_groups = (uint32_t)facts->definitions->n_groups,
                                         .has_stack = has_stack,
                                         .context = facts->totals};

    if (facts->lifetimes)
        state_refuse(io, ERROR_BUG, "rows are kept, which no state has");
    visit_own(facts, io);
    state_part(io, STATE_TOTALS, VERSION);
    totals_visit(facts->totals, io);
    state_part(io, STATE_PAIRING, PAIRING_VERSION);
    pairing_visit(facts->pairing, &most, io);
    state_part(io, STATE_GROUPS, VERSION);
    visit_groups(facts, io);
    state_part(io, STATE_POOLS, POOLS_VERSION);
    visit_pools(facts, io);
    state_part(io, STATE_WALKS, VERSION);
    object_walks_visit(&facts->walks, &room, io);
    state_part(io, STATE_HEAPS, VERSION);
    heap_ranges_visit(facts->heaps, room.n_processes, io);
    state_part(io, STATE_SNAPSHOTS, VERSION);
    snapshots_visit(facts->snapshots, facts->totals, io);
    state_part(io, STATE_SAMPLES, VERSION);
    memory_samples_visit(facts->memory_samples, io);
    state_part(io, STATE_MOMENTS, MOMENTS_VERSION);
    moment_blocks_visit(facts->blocks, &room, io);
}
