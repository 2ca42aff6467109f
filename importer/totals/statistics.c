/* SPDX-License-Identifier: MIT */
#include "importer/totals/statistics.h"

#include "lib/base/dynamic_array.h"

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

/* Of a bounded log. */
enum {
    MAX_EXTENTS = 1 << 14, /* of a process */
    MAX_WINDOWS = 1 << 14, /* of a process */
    MAX_PAIRS = 32,        /* of stacks, and of threads (totals.h) */
};

/* ---- totals of realloc chains ---- */

enum {
    KEY_BYTES = offsetof(struct chain_totals_entry, chains)
};

int chain_totals_add(struct hash_map *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err)
{
    const uint32_t key[KEY_BYTES / sizeof(uint32_t)] = {chain->process, chain->first_backtrace};
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
    return (a->first_backtrace > b->first_backtrace) - (a->first_backtrace < b->first_backtrace);
}

void chain_totals_sort(struct hash_map *totals)
{
    if (totals->n)
        qsort(totals->elements, totals->n, sizeof(struct chain_totals_entry), compare_entries);
}

void chain_totals_visit(struct hash_map *totals, struct checkpoint_io *io)
{
    checkpoint_io_keyed(io, totals, KEY_BYTES, sizeof(struct chain_totals_entry));
}

/* ---- blocks that are live at the end ---- */

static void leaked_blocks_done(struct leaked_blocks *blocks)
{
    free(blocks->list);
    *blocks = (struct leaked_blocks){0};
}

int leaked_blocks_add(struct leaked_blocks *blocks, const struct live_block *block, uint32_t group,
                      enum pairing_ended_by ended_by, struct error *err)
{
    struct leaked_block *list =
        dynamic_array_reserve(blocks->list, &blocks->capacity, blocks->n + 1, sizeof *list);

    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu live blocks", blocks->n);
    blocks->list = list;
    list[blocks->n++] =
        (struct leaked_block){.block = *block, .group = group, .ended_by = (uint8_t)ended_by};
    return 0;
}

static int by_id(const void *left, const void *right)
{
    uint64_t a = ((const struct leaked_block *)left)->block.allocation_id;
    uint64_t b = ((const struct leaked_block *)right)->block.allocation_id;

    return (a > b) - (a < b);
}

bool leaked_blocks_next(struct leaked_blocks *blocks, struct allocation *ret)
{
    if (!blocks->is_sorted && blocks->n > 1)
        qsort(blocks->list, blocks->n, sizeof *blocks->list, by_id);
    blocks->is_sorted = true;
    if (blocks->n_reported == blocks->n)
        return false;
    const struct leaked_block *left = &blocks->list[blocks->n_reported++];
    const struct live_block *block = &left->block;
    *ret = (struct allocation){.allocation_id = block->allocation_id,
                               .alloc_ns = block->alloc_ns,
                               .lifetime_ns = PAIRING_UNKNOWN,
                               .address = block->address,
                               .size_bytes = block->size,
                               .slack_bytes = live_block_slack(block),
                               .intervening = PAIRING_UNKNOWN,
                               .backtrace = block->backtrace,
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
    return (process->flags & (LOG_FLAG_STARTED_OFF | LOG_FLAG_TRACING_WAS_OFF)) != 0;
}

static struct pairing_process traits_of(const struct definitions_process *process)
{
    const uint32_t untracked =
        LOG_FLAG_STARTED_OFF | LOG_FLAG_TRACING_WAS_OFF | LOG_FLAG_FOREIGN_NEW;

    return (struct pairing_process){
        .is_forked = (process->flags & (LOG_FLAG_FORKED | LOG_FLAG_ATTACHED)) != 0,
        .has_lost_events = process->has_lost_events || has_dropped_events(process),
        .has_untracked_blocks = (process->flags & untracked) != 0 || process->unreached.n_deepbound
                                || process->unreached.n_pointers,
        .ended_in_exec = !process->is_cut && definitions_ended_by(process, "exec"),
    };
}

static void bound_process(struct statistics *statistics, struct process_statistics *process)
{
    process->windows.most = statistics->is_bounded ? MAX_WINDOWS : 0;
}

static void process_begin(struct statistics *statistics, uint32_t id)
{
    const struct definitions_process *process = &statistics->definitions->processes[id];
    struct process_statistics *own = &statistics->processes[id];

    own->last_ns = process->last_ns > process->start_ns ? process->last_ns : process->start_ns;
    own->traits = traits_of(process);
    statistics->totals->processes[id].sample_bytes = process->sample_bytes;
    *pairing_process_get(statistics->pairing, id) = own->traits;
    /* A fork child may realloc inherited blocks while no window is open. Other processes record
     * nothing before their first window. */
    pairing_process_get(statistics->pairing, id)->is_untraced =
        own->traits.is_forked && (process->flags & LOG_FLAG_STARTED_OFF);
    timeline_init(&own->timeline, process->start_ns);
    mappings_init(&own->mappings, id, statistics->page_bytes[id], &statistics->last_mapping_id,
                  statistics->sink.mapping, statistics->sink.context);
    own->was_untraced = own->is_untraced = is_untraced(process);
    snapshots_plan(statistics->snapshots, id, process->start_ns);
    bound_process(statistics, own);
}

/* A damaged log may have any value in its header. */
static uint32_t plausible_page_bytes(uint32_t page_bytes)
{
    bool is_power_of_two = (page_bytes & (page_bytes - 1)) == 0;

    return is_power_of_two && page_bytes >= 4096 && page_bytes <= 1 << 20 ? page_bytes : 4096;
}

static int make_arrays(struct statistics *statistics, size_t n, struct error *err)
{
    statistics->processes = calloc(n + 1, sizeof *statistics->processes);
    statistics->page_bytes = calloc(n + 1, sizeof *statistics->page_bytes);
    statistics->word_bytes = calloc(n + 1, sizeof *statistics->word_bytes);
    for (int i = 0; i < STATISTICS_MOMENTS; i++)
        statistics->moments_ns[i] = calloc(n + 1, sizeof **statistics->moments_ns);
    if (!statistics->processes || !statistics->page_bytes || !statistics->word_bytes
        || !statistics->moments_ns[STATISTICS_AT_PEAK]
        || !statistics->moments_ns[STATISTICS_AT_END])
        return error_set(err, ERROR_NOMEM, "out of memory for %zu processes", n);
    for (size_t i = 1; i <= n; i++) { /* later processes run on the same machine */
        size_t id = i <= statistics->definitions->n_processes ? i : 1;
        statistics->page_bytes[i] =
            plausible_page_bytes(statistics->definitions->processes[id].page_bytes);
        statistics->word_bytes[i] = (uint8_t)statistics->definitions->processes[id].word_bytes;
    }
    return 0;
}

static int make_parts(struct statistics *statistics, const char *target, struct error *err)
{
    const struct definitions *definitions = statistics->definitions;
    uint32_t n_processes = statistics->room.n_processes;
    uint32_t n_threads = statistics->room.n_threads;
    struct pairing_sink sink = statistics_blocks_sink(statistics);
    int code = make_arrays(statistics, n_processes, err);

    if (code == 0)
        code = pairing_new(n_processes, n_threads, &sink, &statistics->pairing, err);
    if (code == 0)
        code = totals_new(n_processes, n_threads, statistics->room.n_backtraces,
                          &statistics->totals, err);
    if (code == 0)
        code = heap_ranges_new(n_processes, statistics->page_bytes, statistics->word_bytes,
                               &statistics->heaps, err);
    if (code == 0)
        code = group_totals_new(definitions, &statistics->groups, err);
    if (code == 0)
        code = pool_blocks_new(definitions, &statistics->room, target, &statistics->pools, err);
    if (code == 0)
        code = lifetimes_new(target, &statistics->lifetimes, err);
    if (code == 0)
        code = snapshots_new(n_processes, target, statistics->sink.snapshot,
                             statistics->sink.context, &statistics->snapshots, err);
    if (code == 0 && statistics->sink.takes_any_order)
        snapshots_leave_order(statistics->snapshots);
    if (code == 0)
        code = memory_samples_new(n_processes, statistics->sink.memory, statistics->sink.context,
                                  &statistics->memory_samples, err);
    return code;
}

int statistics_new(const struct definitions *definitions, const struct statistics_room *room,
                   const struct row_sink *sink, const char *target, struct statistics **ret,
                   struct error *err)
{
    struct statistics *statistics = calloc(1, sizeof *statistics);

    if (!statistics)
        return error_set(err, ERROR_NOMEM, "out of memory");
    statistics->sink = *sink;
    statistics->definitions = definitions;
    statistics->room =
        room ? *room
             : (struct statistics_room){.n_processes = (uint32_t)definitions->n_processes,
                                        .n_threads = (uint32_t)definitions->n_threads,
                                        .n_backtraces = (uint32_t)definitions->n_backtraces,
                                        .n_pools = (uint32_t)definitions->n_pools};
    int code = make_parts(statistics, target, err);
    if (code) {
        statistics_free(statistics);
        return code;
    }
    while (statistics->n_processes < definitions->n_processes)
        process_begin(statistics, ++statistics->n_processes);
    *ret = statistics;
    return 0;
}

int statistics_keep_moments(struct statistics *statistics, struct error *err)
{
    return moment_blocks_new(statistics->room.n_processes, &statistics->blocks, err);
}

void statistics_keep_memory(struct statistics *statistics)
{
    statistics->keeps_memory = true;
    pairing_keep_memory(statistics->pairing);
}

void statistics_leave_rows_out(struct statistics *statistics)
{
    lifetimes_free(statistics->lifetimes);
    statistics->lifetimes = NULL;
    if (statistics->pools)
        pool_blocks_leave_rows_out(statistics->pools);
}

void statistics_bound(struct statistics *statistics)
{
    statistics->is_bounded = true;
    pool_blocks_free(statistics->pools);
    statistics->pools = NULL;
    heap_ranges_bound(statistics->heaps, MAX_EXTENTS);
    totals_bound(statistics->totals, MAX_PAIRS);
    for (uint32_t id = 1; id <= statistics->n_processes; id++)
        bound_process(statistics, &statistics->processes[id]);
}

static uint64_t count_left_out(const struct statistics *statistics, enum statistics_bounded kind)
{
    uint64_t n = 0;

    switch (kind) {
    case STATISTICS_EXTENTS:
        return heap_ranges_n_left_out(statistics->heaps);
    case STATISTICS_FREE_SITES:
        return statistics->totals->n_unreported_free_sites;
    case STATISTICS_FLOWS:
        return statistics->totals->n_unreported_flows;
    case STATISTICS_WINDOWS:
        for (uint32_t id = 1; id <= statistics->n_processes; id++)
            n += statistics->processes[id].windows.n_left_out;
        return n;
    default:
        return statistics->n_ignored[kind];
    }
}

uint64_t statistics_n_left_out(const struct statistics *statistics, enum statistics_bounded kind,
                               const char **ret_name)
{
    static const char *const names[STATISTICS_BOUNDED_KINDS] = {
        [STATISTICS_EXTENTS] = "extents",        [STATISTICS_FREE_SITES] = "frees_by_stack",
        [STATISTICS_FLOWS] = "frees_by_thread",  [STATISTICS_WINDOWS] = "windows",
        [STATISTICS_PHASES] = "phases",          [STATISTICS_WALKS] = "walks",
        [STATISTICS_POOL_BLOCKS] = "pool_blocks"};

    *ret_name = names[kind];
    return count_left_out(statistics, kind);
}

void statistics_keep_leaked(struct statistics *statistics)
{
    statistics->left.is_wanted = true;
}

/* Losses and untracked times seen so far stay, whatever the new definitions say. */
static void take_losses(struct statistics *statistics, uint32_t id, struct pairing_process *traits)
{
    struct process_statistics *process = &statistics->processes[id];
    struct pairing_process *own = &process->traits;
    struct pairing_process *paired = pairing_process_get(statistics->pairing, id);

    process->is_untraced |= is_untraced(&statistics->definitions->processes[id]);
    process->was_untraced |= process->is_untraced;
    own->has_lost_events |= traits->has_lost_events;
    own->has_untracked_blocks |= traits->has_untracked_blocks;
    paired->has_lost_events |= own->has_lost_events;
    paired->has_untracked_blocks |= own->has_untracked_blocks;
    traits->has_lost_events = own->has_lost_events;
    traits->has_untracked_blocks = own->has_untracked_blocks;
}

/* Is it the same process, only longer? */
static bool process_continue(struct statistics *statistics, uint32_t id)
{
    const struct definitions_process *process = &statistics->definitions->processes[id];
    struct process_statistics *own = &statistics->processes[id];
    struct pairing_process traits = traits_of(process);

    if (process->last_ns > own->last_ns)
        own->last_ns = process->last_ns;
    if (process->is_cut) { /* an older header may have a time after the cut */
        own->last_ns = process->last_ns > own->event_ns ? process->last_ns : own->event_ns;
        traits.ended_in_exec = own->has_exec;
    }
    pairing_process_get(statistics->pairing, id)->ended_in_exec = own->traits.ended_in_exec =
        traits.ended_in_exec;
    if (statistics->pools)
        pool_blocks_set_exec(statistics->pools, id, traits.ended_in_exec);
    take_losses(statistics, id, &traits);
    return process->start_ns == own->timeline.start_ns && traits.is_forked == own->traits.is_forked;
}

bool statistics_continue(struct statistics *statistics, const struct definitions *definitions,
                         const struct statistics_ids *ids)
{
    bool is_same =
        definitions->n_processes <= statistics->room.n_processes
        && definitions->n_processes >= statistics->n_processes
        && definitions->n_threads <= statistics->room.n_threads
        && definitions->n_backtraces <= statistics->room.n_backtraces
        && (definitions->n_groups > 0) == (statistics->groups != NULL)
        && (statistics->is_bounded || (definitions->n_pools > 0) == (statistics->pools != NULL));

    statistics->definitions = definitions;
    if (is_same && statistics->pools)
        is_same = pool_blocks_continue(statistics->pools, definitions, ids->pools);
    if (statistics->groups)
        statistics->groups->definitions = definitions;
    for (uint32_t id = 1; is_same && id <= statistics->n_processes; id++)
        is_same = process_continue(statistics, id);
    while (is_same && statistics->n_processes < definitions->n_processes) {
        uint32_t id = ++statistics->n_processes;
        is_same = plausible_page_bytes(definitions->processes[id].page_bytes)
                      == statistics->page_bytes[id]
                  && definitions->processes[id].word_bytes == statistics->word_bytes[id];
        process_begin(statistics, id);
    }
    return is_same;
}

void statistics_free(struct statistics *statistics)
{
    if (!statistics || statistics->keeps_memory)
        return;
    for (size_t i = 0; statistics->processes && i <= statistics->n_processes; i++) {
        timeline_done(&statistics->processes[i].timeline);
        mappings_done(&statistics->processes[i].mappings);
        phases_done(&statistics->processes[i].phases);
        address_ranges_done(&statistics->processes[i].mapped_blocks);
        address_ranges_done(&statistics->processes[i].stacks);
        windows_done(&statistics->processes[i].windows);
    }
    for (int i = 0; i < STATISTICS_MOMENTS; i++) {
        heap_pages_done(&statistics->pages[i]);
        free(statistics->moments_ns[i]);
    }
    memory_samples_free(statistics->memory_samples);
    snapshots_free(statistics->snapshots);
    lifetimes_free(statistics->lifetimes);
    heap_ranges_free(statistics->heaps);
    moment_blocks_free(statistics->blocks);
    leaked_blocks_done(&statistics->left);
    totals_free(statistics->totals);
    group_totals_free(statistics->groups);
    pool_blocks_free(statistics->pools);
    object_walks_done(&statistics->walks);
    pairing_free(statistics->pairing);
    hash_map_done(&statistics->chains);
    free(statistics->page_bytes);
    free(statistics->word_bytes);
    free(statistics->processes);
    free(statistics);
}

/* ---- the end of pass 1 ---- */

static int finish_process(struct statistics *statistics, uint32_t id, struct error *err)
{
    struct process_statistics *process = &statistics->processes[id];
    const struct process_totals *totals = &statistics->totals->processes[id];

    if (process->has_exec) /* the header has the end of the last image */
        process->last_ns = process->event_ns;
    int code = timeline_finish(&process->timeline, process->last_ns, totals->live_bytes,
                               totals->live_blocks, err);

    statistics->moments_ns[STATISTICS_AT_PEAK][id] = totals->peak_ns;
    statistics->moments_ns[STATISTICS_AT_END][id] = process->last_ns;
    if (code == 0) /* time passed since the last event */
        code =
            snapshots_advance(statistics->snapshots, statistics->totals, id, process->last_ns, err);
    if (code == 0)
        code = snapshots_finish(statistics->snapshots, statistics->totals, id, process->last_ns,
                                &process->peak_snapshot_id, &process->end_snapshot_id, err);
    return code ? code : mappings_finish(&process->mappings, err);
}

/* Marks heaps with unseen blocks (HR-4). A fork child has its parent's blocks, which may be
 * inherited in turn. In attached processes and their children, unseen blocks may be in any heap. */
static void mark_unseen_blocks(struct statistics *statistics, uint32_t id)
{
    const struct definitions_process *processes = statistics->definitions->processes;
    uint32_t child = id;

    while (processes[child].flags & (LOG_FLAG_FORKED | LOG_FLAG_ATTACHED)) {
        uint32_t parent = processes[child].parent;
        bool is_known = !(processes[child].flags & LOG_FLAG_ATTACHED) && parent && parent < child
                        && !statistics->processes[parent].was_untraced;
        heap_ranges_mark_inherited(statistics->heaps, id, is_known ? parent : 0,
                                   processes[child].start_ns);
        if (!is_known)
            break;
        child = parent;
    }
    if (statistics->processes[id].was_untraced)
        heap_ranges_mark_untracked(statistics->heaps, id);
}

int statistics_finish(struct statistics *statistics, struct error *err)
{
    totals_finish(statistics->totals);
    if (statistics->groups)
        group_totals_finish(statistics->groups);
    int code = 0;
    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++) {
        struct phase_numbers numbers = statistics_phase_numbers(statistics, id);
        struct window_numbers window = statistics_window_numbers(statistics, id);
        code = windows_finish(&statistics->processes[id].windows, &window, err);
        if (code == 0)
            code = phases_finish(&statistics->processes[id].phases, &numbers,
                                 statistics_n_allocations(statistics), err);
    }
    for (uint32_t id = 1; statistics->blocks && id <= statistics->definitions->n_processes; id++)
        if (statistics->totals->processes[id].peak_ns != TOTALS_NEVER)
            moment_blocks_peak(statistics->blocks, id, statistics->totals->processes[id].peak_ns,
                               statistics_n_allocations(statistics));
    if (statistics->blocks) /* statistics_skip_rows needs the live blocks */
        pairing_keep_memory(statistics->pairing);
    if (code == 0)
        code = pairing_finish(statistics->pairing, err);
    if (code == 0 && statistics->pools)
        code = pool_blocks_finish(statistics->pools, err);
    if (code == 0)
        code = totals_flush(statistics->totals, err);
    /* Live blocks are freed now; the second pass needs large tables of its own. */
    if (!statistics->keeps_memory)
        malloc_trim(0);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++)
        code = finish_process(statistics, id, err);
    if (code == 0)
        code = memory_samples_finish(statistics->memory_samples, err);
    if (code == 0)
        code = heap_ranges_finish(statistics->heaps, err);
    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++)
        mark_unseen_blocks(statistics, id);
    return code;
}

/* ---- queries ---- */

bool statistics_has_ended(const struct statistics *statistics, uint32_t process)
{
    return !statistics->definitions->processes[process].is_cut
           || statistics->processes[process].has_ended;
}

uint64_t statistics_event_ns(const struct statistics *statistics, uint32_t process)
{
    return process <= statistics->n_processes ? statistics->processes[process].event_ns : 0;
}

uint64_t statistics_n_allocations(const struct statistics *statistics)
{
    return pairing_counts_get(statistics->pairing)->allocations;
}

uint64_t statistics_n_elided(const struct statistics *statistics)
{
    return totals_n_elided(statistics->totals);
}

uint64_t statistics_n_events(const struct statistics *statistics)
{
    return statistics->n_events;
}

uint64_t statistics_n_anomalies(const struct statistics *statistics)
{
    const struct pairing_counts *counts = pairing_counts_get(statistics->pairing);

    return counts->unknown_frees + counts->unknown_reallocs + counts->double_allocations
           + counts->clock_inversions;
}

uint64_t statistics_n_missed_frees(const struct statistics *statistics)
{
    return pairing_counts_get(statistics->pairing)->double_allocations;
}

const struct statistics_room *statistics_room(const struct statistics *statistics)
{
    return &statistics->room;
}
