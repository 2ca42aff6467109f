/* SPDX-License-Identifier: MIT */
/* statistics_rows: pass 2 and its rows, after numbers were replaced by ids. */
#include "importer/totals/statistics.h"
#include "lib/abi/attr.h"

#include <stdlib.h>

static void renumber_tally(struct hash_map *tally, const uint32_t *from, const uint32_t *to)
{
    struct pair_totals_entry *entries = tally->elements;

    for (size_t i = 0; i < tally->n; i++) {
        entries[i].from = from[entries[i].from];
        entries[i].to = to ? to[entries[i].to] : entries[i].to;
    }
}

static int renumber_threads(struct totals *totals, const struct statistics *statistics,
                            struct error *err)
{
    size_t n = statistics->definitions->n_threads;
    struct thread_totals *threads = calloc((size_t)totals->n_threads + 1, sizeof *threads);

    if (!threads)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of %zu threads", n);
    for (size_t number = 1; number <= n; number++)
        threads[statistics->ids.threads[number]] = totals->threads[number];
    free(totals->threads);
    totals->threads = threads;
    return 0;
}

int statistics_renumber(struct statistics *statistics, const struct statistics_ids *ids,
                        struct error *err)
{
    struct totals *totals = statistics->totals;
    struct chain_totals_entry *chains = statistics->chains.elements;

    statistics->ids = *ids;
    for (uint32_t id = 1; id <= statistics->n_processes; id++) {
        const struct process_totals *process = &totals->processes[id];
        struct phases *phases = &statistics->processes[id].phases;
        for (uint32_t i = 0; i < process->n_stacks; i++) {
            struct stack_totals *stack = totals_stack(process, i);
            stack->backtrace = ids->backtraces[stack->backtrace];
        }
        for (size_t i = 0; i < phases->n; i++)
            phases->list[i].thread = ids->threads[phases->list[i].thread];
    }
    renumber_tally(&totals->free_sites, ids->backtraces, ids->backtraces);
    renumber_tally(&totals->flows, ids->threads, ids->threads);
    renumber_tally(&totals->leaked_allocations, ids->backtraces, NULL);
    renumber_tally(&statistics->walks.unclaimed, ids->backtraces, NULL);
    for (size_t i = 0; i < statistics->walks.n; i++)
        statistics->walks.list[i].thread = ids->threads[statistics->walks.list[i].thread];
    for (size_t i = 0; i < statistics->chains.n; i++)
        chains[i].first_backtrace = ids->backtraces[chains[i].first_backtrace];
    int code = statistics->pools ? pool_blocks_renumber(statistics->pools, ids, err) : 0;
    return code ? code : renumber_threads(totals, statistics, err);
}

/* ---- pass 2 ---- */

static int init_pages(struct statistics *statistics, struct error *err)
{
    /* Shared frames are needed only for tables of single pages and pins. */
    const struct definitions_backtrace *stacks =
        statistics->left_out < LEFT_OUT_MOMENTS ? statistics->definitions->backtraces : NULL;
    int code = 0;

    for (int i = 0; code == 0 && i < STATISTICS_MOMENTS; i++)
        code = heap_pages_init(&statistics->pages[i], statistics->heaps, statistics->page_bytes,
                               stacks, err);
    return code;
}

int statistics_begin_rows(struct statistics *statistics, struct error *err)
{
    int code = lifetimes_rewind(statistics->lifetimes, err);

    return code ? code : init_pages(statistics, err);
}

static bool live_at(const struct allocation *allocation, uint64_t time_ns)
{
    if (allocation->alloc_ns > time_ns)
        return false;
    return allocation->lifetime_ns == PAIRING_UNKNOWN
           || allocation->alloc_ns + allocation->lifetime_ns > time_ns;
}

/* Finds the heap of the block, and adds the block to the pages of each moment at which it was
 * live. */
static int place(struct statistics *statistics, struct allocation *allocation, struct error *err)
{
    uint32_t process = statistics->definitions->threads[allocation->thread].process;
    uint64_t occupied = allocation->size_bytes;
    int code = 0;

    if (statistics->definitions->has_no_addresses) {
        allocation->address = UINT64_MAX;
        return 0;
    }
    if (allocation->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += allocation->slack_bytes;
    if (statistics->definitions->processes[process].sample_bytes
        || !heap_ranges_is_heap_block(allocation->call, occupied))
        return 0;
    allocation->heap = heap_ranges_find(statistics->heaps, process, allocation->address);
    uint64_t peak_ns = statistics->moments_ns[STATISTICS_AT_PEAK][process];
    if (peak_ns != TOTALS_NEVER && live_at(allocation, peak_ns))
        code = heap_pages_add(&statistics->pages[STATISTICS_AT_PEAK], allocation, err);
    if (code == 0 && allocation->lifetime_ns == PAIRING_UNKNOWN)
        code = heap_pages_add(&statistics->pages[STATISTICS_AT_END], allocation, err);
    return code;
}

static void renumber_row(struct statistics *statistics, struct allocation *allocation,
                         const struct pairing_chain **chain)
{
    const struct statistics_ids *ids = &statistics->ids;

    allocation->backtrace = ids->backtraces[allocation->backtrace];
    allocation->free_backtrace = ids->backtraces[allocation->free_backtrace];
    allocation->thread = ids->threads[allocation->thread];
    allocation->free_thread = ids->threads[allocation->free_thread];
    if (*chain) {
        statistics->chain = **chain;
        statistics->chain.first_backtrace = ids->backtraces[statistics->chain.first_backtrace];
        statistics->chain.last_backtrace = ids->backtraces[statistics->chain.last_backtrace];
        *chain = &statistics->chain;
    }
}

int statistics_next_row(struct statistics *statistics, struct allocation *ret_allocation,
                        const struct pairing_chain **ret_chain, struct error *err)
{
    int more = lifetimes_next(statistics->lifetimes, ret_allocation, ret_chain, err);

    if (more > 0 && mtrace_unlikely(statistics->ids.threads != NULL))
        renumber_row(statistics, ret_allocation, ret_chain);
    if (more > 0) {
        int code = place(statistics, ret_allocation, err);
        if (code)
            return code;
    }
    return more;
}

bool statistics_next_live(struct statistics *statistics, struct allocation *ret_allocation)
{
    const struct pairing_chain *no_chain = NULL;
    uint64_t occupied;
    uint32_t process;

    if (!leaked_blocks_next(&statistics->left, ret_allocation))
        return false;
    if (statistics->ids.threads)
        renumber_row(statistics, ret_allocation, &no_chain);
    process = statistics->definitions->threads[ret_allocation->thread].process;
    occupied = ret_allocation->size_bytes;
    if (ret_allocation->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += ret_allocation->slack_bytes;
    if (!statistics->definitions->processes[process].sample_bytes
        && heap_ranges_is_heap_block(ret_allocation->call, occupied))
        ret_allocation->heap =
            heap_ranges_find(statistics->heaps, process, ret_allocation->address);
    return true;
}

/* Does the same as `place`, for a kept block. */
static int place_kept(struct statistics *statistics, const struct moment_block *block,
                      enum statistics_moment moment, struct error *err)
{
    struct allocation allocation = {.allocation_id = block->allocation_id,
                                    .address = block->address,
                                    .size_bytes = block->size_bytes,
                                    .slack_bytes = block->slack_bytes,
                                    .backtrace = block->backtrace,
                                    .call = block->call};
    uint64_t occupied = block->size_bytes;

    if (statistics->ids.backtraces)
        allocation.backtrace = statistics->ids.backtraces[block->backtrace];
    if (block->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += block->slack_bytes;
    if (!heap_ranges_is_heap_block(block->call, occupied))
        return 0;
    allocation.heap = heap_ranges_find(statistics->heaps, block->process, block->address);
    return heap_pages_add(&statistics->pages[moment], &allocation, err);
}

static bool is_placed(const struct statistics *statistics, uint32_t process)
{
    return statistics->definitions->processes[process].sample_bytes == 0;
}

/* Places the blocks that are live at the end and were (or were not) live at the peak.
 * *ret_n_others: increased by the number of other blocks. */
static int place_live(struct statistics *statistics, uint32_t process, bool was_at_peak,
                      size_t *ret_n_others, struct error *err)
{
    const struct live_block *live;
    uint32_t cursor = 0;
    int code = 0;

    while (code == 0 && (live = pairing_next_live(statistics->pairing, process, &cursor)) != NULL) {
        const struct moment_block block = moment_blocks_make(process, live);
        if (moment_blocks_was_at_peak(statistics->blocks, process, block.allocation_id)
            == was_at_peak)
            code = place_kept(statistics, &block, STATISTICS_AT_END, err);
        else
            ++*ret_n_others;
    }
    return code;
}

/* Places the blocks freed since the peak, and those allocated since. */
static int place_others(struct statistics *statistics, uint32_t process, bool has_new,
                        struct error *err)
{
    size_t n_others = 0;
    size_t n;
    const struct moment_block *ended = moment_blocks_ended_since(statistics->blocks, process, &n);
    int code = has_new ? place_live(statistics, process, false, &n_others, err) : 0;

    for (size_t i = 0; code == 0 && i < n; i++)
        code = place_kept(statistics, &ended[i], STATISTICS_AT_PEAK, err);
    return code;
}

/* Blocks live at both moments are placed once and the pages are copied: if memory grows, this is
 * nearly all. */
static int place_all_kept(struct statistics *statistics, struct error *err)
{
    size_t n_new = 0;
    int code = 0;

    for (uint32_t id = 1; code == 0 && id <= statistics->n_processes; id++)
        if (is_placed(statistics, id))
            code = place_live(statistics, id, true, &n_new, err);
    if (code == 0)
        code = heap_pages_copy(&statistics->pages[STATISTICS_AT_PEAK],
                               &statistics->pages[STATISTICS_AT_END], err);
    for (uint32_t id = 1; code == 0 && id <= statistics->n_processes; id++)
        if (is_placed(statistics, id))
            code = place_others(statistics, id, n_new > 0, err);
    return code;
}

int statistics_skip_rows(struct statistics *statistics, bool *ret_were_skipped, struct error *err)
{
    int code;

    *ret_were_skipped = statistics->blocks != NULL;
    if (!statistics->blocks)
        return 0;
    code = init_pages(statistics, err);
    if (code == 0)
        code = place_all_kept(statistics, err);
    return code ? code : statistics_end_rows(statistics, err);
}

int statistics_end_rows(struct statistics *statistics, struct error *err)
{
    int code = 0;

    for (int i = 0; code == 0 && i < STATISTICS_MOMENTS; i++)
        code = heap_pages_finish(&statistics->pages[i], statistics->moments_ns[i], err);
    return code;
}
