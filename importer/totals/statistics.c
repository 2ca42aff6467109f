/* SPDX-License-Identifier: MIT */
#include "importer/totals/statistics.h"

#include "lib/base/dynamic_array.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- totals of realloc chains ---- */

enum {
    KEY_BYTES = offsetof(struct chain_totals_entry, chains)
};

int chain_totals_add(struct hash_map *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err)
{
    const uint32_t key[KEY_BYTES / sizeof(uint32_t)] = {chain->process, chain->first_node};
    struct chain_totals_entry *entry = hash_map_get(totals, key, KEY_BYTES, sizeof *entry);

    if (!entry)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of chains");
    entry->chains++;
    entry->leaked_chains += leaked;
    entry->reallocs += chain->length - 1;
    entry->moves += chain->moves;
    entry->copied_bytes += chain->copied_bytes;
    if (chain->length > entry->longest)
        entry->longest = chain->length;
    entry->first_bytes += chain->first_size;
    entry->last_bytes += chain->last_size;
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct chain_totals_entry *a = left;
    const struct chain_totals_entry *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->first_node > b->first_node) - (a->first_node < b->first_node);
}

void chain_totals_sort(struct hash_map *totals)
{
    if (totals->n)
        qsort(totals->elements, totals->n, sizeof(struct chain_totals_entry), compare_entries);
}

void chain_totals_visit(struct hash_map *totals, uint32_t n_processes, uint32_t n_nodes,
                        struct checkpoint_io *io)
{
    const struct chain_totals_entry *entries;

    state_keyed(io, totals, KEY_BYTES, sizeof *entries);
    entries = totals->elements;
    for (size_t i = 0; i < totals->n; i++)
        state_check(io, entries[i].process <= n_processes && entries[i].first_node <= n_nodes,
                    "totals of chains");
}

/* ---- blocks that are live at the end ---- */

static void left_blocks_done(struct left_blocks *blocks)
{
    free(blocks->list);
    *blocks = (struct left_blocks){0};
}

int left_blocks_add(struct left_blocks *blocks, const struct live_block *block, uint32_t group,
                    enum pairing_ended_by ended_by, struct error *err)
{
    struct left_block *list =
        dynamic_array_reserve(blocks->list, &blocks->capacity, blocks->n + 1, sizeof *list);

    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu live blocks", blocks->n);
    blocks->list = list;
    list[blocks->n++] =
        (struct left_block){.block = *block, .group = group, .ended_by = (uint8_t)ended_by};
    return 0;
}

static int by_id(const void *left, const void *right)
{
    uint64_t a = ((const struct left_block *)left)->block.allocation_id;
    uint64_t b = ((const struct left_block *)right)->block.allocation_id;

    return (a > b) - (a < b);
}

bool left_blocks_next(struct left_blocks *blocks, struct allocation *ret)
{
    if (!blocks->is_sorted && blocks->n > 1)
        qsort(blocks->list, blocks->n, sizeof *blocks->list, by_id);
    blocks->is_sorted = true;
    if (blocks->n_reported == blocks->n)
        return false;
    const struct left_block *left = &blocks->list[blocks->n_reported++];
    const struct live_block *block = &left->block;
    *ret = (struct allocation){.allocation_id = block->allocation_id,
                               .alloc_ns = block->alloc_ns,
                               .lifetime_ns = PAIRING_UNKNOWN,
                               .address = block->address,
                               .size_bytes = block->size,
                               .slack_bytes = live_block_slack(block),
                               .intervening = PAIRING_UNKNOWN,
                               .node = block->node,
                               .thread = block->thread,
                               .group = left->group,
                               .free_group = left->group,
                               .call = (uint8_t)block->call,
                               .alignment_log2 = (uint8_t)block->alignment_log2,
                               .ended_by = left->ended_by};
    return true;
}

/* ---- making and freeing ---- */

static bool has_dropped_events(const struct definitions_process *process)
{
    for (int i = 0; i < LOG_DROP_REASONS; i++)
        if (process->dropped[i])
            return true;
    return false;
}

static bool is_untraced(const struct definitions_process *process)
{
    return (process->flags & (LOG_FLAG_STARTED_OFF | LOG_FLAG_SIDE_TRACING_OFF)) != 0;
}

static struct pairing_process traits_of(const struct definitions_process *process)
{
    const uint32_t untracked =
        LOG_FLAG_STARTED_OFF | LOG_FLAG_SIDE_TRACING_OFF | LOG_FLAG_FOREIGN_NEW;

    return (struct pairing_process){
        .is_forked = (process->flags & (LOG_FLAG_FORKED | LOG_FLAG_ATTACHED)) != 0,
        .has_lost_events = process->has_lost_events || has_dropped_events(process),
        .has_untracked_blocks = (process->flags & untracked) != 0 || process->unreached.n_deepbound
                                || process->unreached.n_pointers,
        .ended_in_exec = !process->is_cut && definitions_ended_by(process, "exec"),
    };
}

static void bound_process(struct statistics *facts, struct process_facts *process)
{
    process->windows.most = facts->limits.windows;
    process->phases.most = facts->limits.phases;
}

static void process_begin(struct statistics *facts, uint32_t id)
{
    const struct definitions_process *process = &facts->definitions->processes[id];
    struct process_facts *own = &facts->processes[id];

    own->last_ns = process->last_ns > process->start_ns ? process->last_ns : process->start_ns;
    own->traits = traits_of(process);
    facts->totals->processes[id].sample_bytes = process->sample_bytes;
    *pairing_process_get(facts->pairing, id) = own->traits;
    /* A fork child may realloc inherited blocks while no window is open. Other processes record
     * nothing before their first window. */
    pairing_process_get(facts->pairing, id)->is_untraced =
        own->traits.is_forked && (process->flags & LOG_FLAG_STARTED_OFF);
    timeline_init(&own->timeline, process->start_ns);
    mappings_init(&own->mappings, id, facts->page_bytes[id], &facts->last_mapping_id,
                  facts->sink.mapping, facts->sink.context);
    own->was_untraced = own->is_untraced = is_untraced(process);
    snapshots_plan(facts->snapshots, id, process->start_ns);
    bound_process(facts, own);
}

/* A damaged log may have any value in its header. */
static uint32_t plausible_page_bytes(uint32_t page_bytes)
{
    bool is_power_of_two = (page_bytes & (page_bytes - 1)) == 0;

    return is_power_of_two && page_bytes >= 4096 && page_bytes <= 1 << 20 ? page_bytes : 4096;
}

static int make_arrays(struct statistics *facts, size_t n, struct error *err)
{
    facts->processes = calloc(n + 1, sizeof *facts->processes);
    facts->page_bytes = calloc(n + 1, sizeof *facts->page_bytes);
    facts->word_bytes = calloc(n + 1, sizeof *facts->word_bytes);
    for (int i = 0; i < STATISTICS_MOMENTS; i++)
        facts->moments_ns[i] = calloc(n + 1, sizeof **facts->moments_ns);
    if (!facts->processes || !facts->page_bytes || !facts->word_bytes
        || !facts->moments_ns[STATISTICS_AT_PEAK] || !facts->moments_ns[STATISTICS_AT_END])
        return error_set(err, ERROR_NOMEM, "out of memory for %zu processes", n);
    for (size_t i = 1; i <= n; i++) { /* later processes run on the same machine */
        size_t id = i <= facts->definitions->n_processes ? i : 1;
        facts->page_bytes[i] = plausible_page_bytes(facts->definitions->processes[id].page_bytes);
        facts->word_bytes[i] = (uint8_t)facts->definitions->processes[id].word_bytes;
    }
    return 0;
}

static int make_parts(struct statistics *facts, const char *target, struct error *err)
{
    const struct definitions *definitions = facts->definitions;
    uint32_t n_processes = facts->room.n_processes;
    uint32_t n_threads = facts->room.n_threads;
    struct pairing_sink sink = facts_blocks_sink(facts);
    int code = make_arrays(facts, n_processes, err);

    if (code == 0)
        code = pairing_new(n_processes, n_threads, &sink, &facts->pairing, err);
    if (code == 0)
        code = totals_new(n_processes, n_threads, facts->room.n_nodes, &facts->totals, err);
    if (code == 0)
        code =
            heap_ranges_new(n_processes, facts->page_bytes, facts->word_bytes, &facts->heaps, err);
    if (code == 0)
        code = group_totals_new(definitions, &facts->groups, err);
    if (code == 0)
        code = pool_blocks_new(definitions, &facts->room, target, &facts->pools, err);
    if (code == 0)
        code = lifetimes_new(target, &facts->lifetimes, err);
    if (code == 0)
        code = snapshots_new(n_processes, target, facts->sink.snapshot, facts->sink.context,
                             &facts->snapshots, err);
    if (code == 0 && facts->sink.takes_any_order)
        snapshots_leave_order(facts->snapshots);
    if (code == 0)
        code = memory_samples_new(n_processes, facts->word_bytes, facts->sink.memory,
                                  facts->sink.context, &facts->memory_samples, err);
    return code;
}

int statistics_new(const struct definitions *definitions, const struct statistics_room *room,
                   const struct row_sink *sink, const char *target, struct statistics **ret,
                   struct error *err)
{
    struct statistics *facts = calloc(1, sizeof *facts);

    if (!facts)
        return error_set(err, ERROR_NOMEM, "out of memory");
    facts->sink = *sink;
    facts->definitions = definitions;
    facts->room = room ? *room
                       : (struct statistics_room){.n_processes = (uint32_t)definitions->n_processes,
                                                  .n_threads = (uint32_t)definitions->n_threads,
                                                  .n_nodes = (uint32_t)definitions->n_backtraces,
                                                  .n_pools = (uint32_t)definitions->n_pools};
    int code = make_parts(facts, target, err);
    if (code) {
        statistics_free(facts);
        return code;
    }
    while (facts->n_processes < definitions->n_processes)
        process_begin(facts, ++facts->n_processes);
    *ret = facts;
    return 0;
}

int statistics_keep_moments(struct statistics *facts, struct error *err)
{
    return moment_blocks_new(facts->room.n_processes, &facts->blocks, err);
}

void statistics_leave_out(struct statistics *facts, enum left_out left_out)
{
    facts->left_out = left_out;
    if (left_out < LEFT_OUT_HEAPS)
        return;
    if (!facts->keeps_memory)
        moment_blocks_free(facts->blocks);
    facts->blocks = NULL;
}

const struct hash_map *statistics_leaked_allocations(const struct statistics *facts)
{
    return &facts->totals->leaked_allocations;
}

void statistics_keep_memory(struct statistics *facts)
{
    facts->keeps_memory = true;
    pairing_keep_memory(facts->pairing);
}

void statistics_leave_rows_out(struct statistics *facts)
{
    lifetimes_free(facts->lifetimes);
    facts->lifetimes = NULL;
    if (facts->pools)
        pool_blocks_leave_rows_out(facts->pools);
}

void statistics_bound(struct statistics *facts, const struct statistics_limits *limits)
{
    facts->limits = *limits;
    heap_ranges_bound(facts->heaps, limits->extents);
    totals_bound(facts->totals, limits->pairs);
    facts->walks.most = limits->walks;
    for (uint32_t id = 1; id <= facts->n_processes; id++)
        bound_process(facts, &facts->processes[id]);
}

static uint64_t count_left_out(const struct statistics *facts, enum statistics_bounded kind)
{
    uint64_t n = 0;

    switch (kind) {
    case STATISTICS_EXTENTS:
        return heap_ranges_n_left_out(facts->heaps);
    case STATISTICS_FREE_SITES:
        return facts->totals->n_unreported_free_sites;
    case STATISTICS_FLOWS:
        return facts->totals->n_unreported_flows;
    case STATISTICS_WALKS:
        return facts->walks.n_left_out;
    default:
        for (uint32_t id = 1; id <= facts->n_processes; id++)
            n += kind == STATISTICS_WINDOWS ? facts->processes[id].windows.n_left_out
                                            : facts->processes[id].phases.n_left_out;
        return n;
    }
}

uint64_t statistics_n_left_out(const struct statistics *facts, enum statistics_bounded kind,
                               const char **ret_name)
{
    static const char *const names[STATISTICS_BOUNDED_KINDS] = {
        [STATISTICS_EXTENTS] = "extents",       [STATISTICS_FREE_SITES] = "frees_by_stack",
        [STATISTICS_FLOWS] = "frees_by_thread", [STATISTICS_WALKS] = "walks",
        [STATISTICS_WINDOWS] = "windows",       [STATISTICS_PHASES] = "phases"};

    *ret_name = names[kind];
    return count_left_out(facts, kind);
}

void statistics_keep_left(struct statistics *facts)
{
    facts->left.is_wanted = true;
}

/* The log cannot be read again, so losses and untracked times seen so far stay, whatever the new
 * definitions say. */
static void take_losses(struct statistics *facts, uint32_t id, struct pairing_process *traits)
{
    struct process_facts *process = &facts->processes[id];
    struct pairing_process *own = &process->traits;
    struct pairing_process *paired = pairing_process_get(facts->pairing, id);

    process->is_untraced |= is_untraced(&facts->definitions->processes[id]);
    process->was_untraced |= process->is_untraced;
    own->has_lost_events |= traits->has_lost_events;
    own->has_untracked_blocks |= traits->has_untracked_blocks;
    paired->has_lost_events |= own->has_lost_events;
    paired->has_untracked_blocks |= own->has_untracked_blocks;
    traits->has_lost_events = own->has_lost_events;
    traits->has_untracked_blocks = own->has_untracked_blocks;
}

/* Is it the same process, only longer? */
static bool process_continue(struct statistics *facts, uint32_t id, bool is_sole)
{
    const struct definitions_process *process = &facts->definitions->processes[id];
    struct process_facts *own = &facts->processes[id];
    struct pairing_process traits = traits_of(process);

    if (process->last_ns > own->last_ns)
        own->last_ns = process->last_ns;
    if (process->is_cut) { /* an older header may have a time after the cut */
        own->last_ns = process->last_ns > own->event_ns ? process->last_ns : own->event_ns;
        traits.ended_in_exec = own->has_exec;
    }
    pairing_process_get(facts->pairing, id)->ended_in_exec = own->traits.ended_in_exec =
        traits.ended_in_exec;
    if (facts->pools)
        pool_blocks_set_exec(facts->pools, id, traits.ended_in_exec);
    if (is_sole)
        take_losses(facts, id, &traits);
    return process->start_ns == own->timeline.start_ns && is_untraced(process) == own->is_untraced
           && traits.is_forked == own->traits.is_forked
           && traits.has_lost_events == own->traits.has_lost_events
           && traits.has_untracked_blocks == own->traits.has_untracked_blocks;
}

bool statistics_continue(struct statistics *facts, const struct definitions *definitions,
                         const struct statistics_ids *ids, bool is_sole)
{
    bool is_same = definitions->n_processes <= facts->room.n_processes
                   && definitions->n_processes >= facts->n_processes
                   && definitions->n_threads <= facts->room.n_threads
                   && definitions->n_backtraces <= facts->room.n_nodes
                   && (definitions->n_groups > 0) == (facts->groups != NULL)
                   && (definitions->n_pools > 0) == (facts->pools != NULL);

    facts->definitions = definitions;
    if (is_same && facts->pools)
        is_same = pool_blocks_continue(facts->pools, definitions, ids->pools);
    if (facts->groups)
        facts->groups->definitions = definitions;
    for (uint32_t id = 1; is_same && id <= facts->n_processes; id++)
        is_same = process_continue(facts, id, is_sole);
    while (is_same && facts->n_processes < definitions->n_processes) {
        uint32_t id = ++facts->n_processes;
        is_same =
            plausible_page_bytes(definitions->processes[id].page_bytes) == facts->page_bytes[id]
            && definitions->processes[id].word_bytes == facts->word_bytes[id];
        process_begin(facts, id);
    }
    return is_same;
}

void statistics_free(struct statistics *facts)
{
    if (!facts || facts->keeps_memory)
        return;
    for (size_t i = 0; facts->processes && i <= facts->n_processes; i++) {
        timeline_done(&facts->processes[i].timeline);
        mappings_done(&facts->processes[i].mappings);
        phases_done(&facts->processes[i].phases);
        windows_done(&facts->processes[i].windows);
    }
    for (int i = 0; i < STATISTICS_MOMENTS; i++) {
        heap_pages_done(&facts->pages[i]);
        free(facts->moments_ns[i]);
    }
    memory_samples_free(facts->memory_samples);
    snapshots_free(facts->snapshots);
    lifetimes_free(facts->lifetimes);
    heap_ranges_free(facts->heaps);
    moment_blocks_free(facts->blocks);
    left_blocks_done(&facts->left);
    totals_free(facts->totals);
    group_totals_free(facts->groups);
    pool_blocks_free(facts->pools);
    object_walks_done(&facts->walks);
    pairing_free(facts->pairing);
    hash_map_done(&facts->chains);
    free(facts->page_bytes);
    free(facts->word_bytes);
    free(facts->processes);
    free(facts);
}

/* ---- the end of pass 1 ---- */

static int finish_process(struct statistics *facts, uint32_t id, struct error *err)
{
    struct process_facts *process = &facts->processes[id];
    const struct process_totals *totals = &facts->totals->processes[id];

    if (process->has_exec) /* the header has the end of the last image */
        process->last_ns = process->event_ns;
    int code = timeline_finish(&process->timeline, process->last_ns, totals->live_bytes,
                               totals->live_blocks, err);

    facts->moments_ns[STATISTICS_AT_PEAK][id] = totals->peak_ns;
    facts->moments_ns[STATISTICS_AT_END][id] = process->last_ns;
    if (facts->left_out >= LEFT_OUT_LEAKS)
        return code ? code : mappings_finish(&process->mappings, err);
    if (code == 0) /* time passed since the last event */
        code = snapshots_advance(facts->snapshots, facts->totals, id, process->last_ns, err);
    if (code == 0)
        code = snapshots_finish(facts->snapshots, facts->totals, id, process->last_ns,
                                &process->peak_snapshot_id, &process->end_snapshot_id, err);
    return code ? code : mappings_finish(&process->mappings, err);
}

/* Marks heaps with unseen blocks (HR-4). A fork child has its parent's blocks, which may be
 * inherited in turn. In attached processes and their children, unseen blocks may be in any heap. */
static void mark_unseen_blocks(struct statistics *facts, uint32_t id)
{
    const struct definitions_process *processes = facts->definitions->processes;
    uint32_t child = id;

    while (processes[child].flags & (LOG_FLAG_FORKED | LOG_FLAG_ATTACHED)) {
        uint32_t parent = processes[child].parent;
        bool is_known = !(processes[child].flags & LOG_FLAG_ATTACHED) && parent && parent < child
                        && !facts->processes[parent].was_untraced;
        heap_ranges_mark_inherited(facts->heaps, id, is_known ? parent : 0,
                                   processes[child].start_ns);
        if (!is_known)
            break;
        child = parent;
    }
    if (facts->processes[id].was_untraced)
        heap_ranges_mark_untracked(facts->heaps, id);
}

int statistics_finish(struct statistics *facts, struct error *err)
{
    totals_finish(facts->totals);
    if (facts->groups)
        group_totals_finish(facts->groups);
    int code = 0;
    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++) {
        struct phase_numbers numbers = statistics_phase_numbers(facts, id);
        struct window_numbers window = statistics_window_numbers(facts, id);
        code = windows_finish(&facts->processes[id].windows, &window, err);
        if (code == 0)
            code = phases_finish(&facts->processes[id].phases, &numbers,
                                 statistics_n_allocations(facts), err);
    }
    for (uint32_t id = 1; facts->blocks && id <= facts->definitions->n_processes; id++)
        if (facts->totals->processes[id].peak_ns != TOTALS_NEVER)
            moment_blocks_peak(facts->blocks, id, facts->totals->processes[id].peak_ns,
                               statistics_n_allocations(facts));
    if (facts->blocks) /* statistics_skip_rows needs the live blocks */
        pairing_keep_memory(facts->pairing);
    if (code == 0)
        code = pairing_finish(facts->pairing, err);
    if (code == 0 && facts->pools)
        code = pool_blocks_finish(facts->pools, err);
    if (code == 0)
        code = totals_flush(facts->totals, err);
    /* Live blocks are freed now; the second pass needs large tables of its own. */
    if (!facts->keeps_memory)
        malloc_trim(0);

    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++)
        code = finish_process(facts, id, err);
    if (code == 0)
        code = memory_samples_finish(facts->memory_samples, err);
    if (code == 0)
        code = heap_ranges_finish(facts->heaps, err);
    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++)
        mark_unseen_blocks(facts, id);
    return code;
}

/* ---- queries ---- */

bool statistics_has_ended(const struct statistics *facts, uint32_t process)
{
    return !facts->definitions->processes[process].is_cut || facts->processes[process].has_ended;
}

uint64_t statistics_event_ns(const struct statistics *facts, uint32_t process)
{
    return process <= facts->n_processes ? facts->processes[process].event_ns : 0;
}

uint64_t statistics_n_allocations(const struct statistics *facts)
{
    return pairing_counts_get(facts->pairing)->allocations;
}

uint64_t statistics_n_elided(const struct statistics *facts)
{
    return totals_n_elided(facts->totals);
}

uint64_t statistics_n_events(const struct statistics *facts)
{
    return facts->n_events;
}

uint64_t statistics_n_anomalies(const struct statistics *facts)
{
    const struct pairing_counts *counts = pairing_counts_get(facts->pairing);

    return counts->unknown_frees + counts->unknown_reallocs + counts->double_allocations
           + counts->clock_inversions;
}

uint64_t statistics_n_missed_frees(const struct statistics *facts)
{
    return pairing_counts_get(facts->pairing)->double_allocations;
}

const struct statistics_room *statistics_room(const struct statistics *facts)
{
    return &facts->room;
}
