/* SPDX-License-Identifier: MIT */
/* facts_rows: pass 2 and its rows, after numbers were replaced by ids. */
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

static int renumber_threads(struct totals *totals, const struct statistics *facts,
                            struct error *err)
{
    size_t n = facts->definitions->n_threads;
    struct thread_totals *threads = calloc((size_t)totals->n_threads + 1, sizeof *threads);

    if (!threads)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of %zu threads", n);
    for (size_t number = 1; number <= n; number++)
        threads[facts->ids.threads[number]] = totals->threads[number];
    free(totals->threads);
    totals->threads = threads;
    return 0;
}

int statistics_renumber(struct statistics *facts, const struct statistics_ids *ids,
                        struct error *err)
{
    struct totals *totals = facts->totals;
    struct chain_totals_entry *chains = facts->chains.elements;

    facts->ids = *ids;
    for (uint32_t id = 1; id <= facts->n_processes; id++) {
        const struct process_totals *process = &totals->processes[id];
        struct phases *phases = &facts->processes[id].phases;
        for (uint32_t i = 0; i < process->n_stacks; i++) {
            struct stack_totals *stack = totals_stack(process, i);
            stack->node = ids->backtraces[stack->node];
        }
        for (size_t i = 0; i < phases->n; i++)
            phases->list[i].thread = ids->threads[phases->list[i].thread];
    }
    renumber_tally(&totals->free_sites, ids->backtraces, ids->backtraces);
    renumber_tally(&totals->flows, ids->threads, ids->threads);
    renumber_tally(&totals->leaked_allocations, ids->backtraces, NULL);
    renumber_tally(&facts->walks.unclaimed, ids->backtraces, NULL);
    for (size_t i = 0; i < facts->walks.n; i++)
        facts->walks.list[i].thread = ids->threads[facts->walks.list[i].thread];
    for (size_t i = 0; i < facts->chains.n; i++)
        chains[i].first_node = ids->backtraces[chains[i].first_node];
    int code = facts->pools ? pool_blocks_renumber(facts->pools, ids, err) : 0;
    return code ? code : renumber_threads(totals, facts, err);
}

/* ---- pass 2 ---- */

static int init_pages(struct statistics *facts, struct error *err)
{
    /* Shared frames are needed only for tables of single pages and pins. */
    const struct definitions_backtrace *stacks =
        facts->left_out < LEFT_OUT_MOMENTS ? facts->definitions->backtraces : NULL;
    int code = 0;

    for (int i = 0; code == 0 && i < STATISTICS_MOMENTS; i++)
        code = heap_pages_init(&facts->pages[i], facts->heaps, facts->page_bytes, stacks, err);
    return code;
}

int statistics_begin_rows(struct statistics *facts, struct error *err)
{
    int code = lifetimes_rewind(facts->lifetimes, err);

    return code ? code : init_pages(facts, err);
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
static int place(struct statistics *facts, struct allocation *allocation, struct error *err)
{
    uint32_t process = facts->definitions->threads[allocation->thread].process;
    uint64_t occupied = allocation->size_bytes;
    int code = 0;

    if (facts->definitions->has_no_addresses) {
        allocation->address = UINT64_MAX;
        return 0;
    }
    if (allocation->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += allocation->slack_bytes;
    if (facts->definitions->processes[process].sample_bytes
        || !heap_ranges_is_heap_block(allocation->call, occupied))
        return 0;
    allocation->heap = heap_ranges_find(facts->heaps, process, allocation->address);
    uint64_t peak_ns = facts->moments_ns[STATISTICS_AT_PEAK][process];
    if (peak_ns != TOTALS_NEVER && live_at(allocation, peak_ns))
        code = heap_pages_add(&facts->pages[STATISTICS_AT_PEAK], allocation, err);
    if (code == 0 && allocation->lifetime_ns == PAIRING_UNKNOWN)
        code = heap_pages_add(&facts->pages[STATISTICS_AT_END], allocation, err);
    return code;
}

static void renumber_row(struct statistics *facts, struct allocation *allocation,
                         const struct pairing_chain **chain)
{
    const struct statistics_ids *ids = &facts->ids;

    allocation->node = ids->backtraces[allocation->node];
    allocation->free_node = ids->backtraces[allocation->free_node];
    allocation->thread = ids->threads[allocation->thread];
    allocation->free_thread = ids->threads[allocation->free_thread];
    if (*chain) {
        facts->chain = **chain;
        facts->chain.first_node = ids->backtraces[facts->chain.first_node];
        facts->chain.last_node = ids->backtraces[facts->chain.last_node];
        *chain = &facts->chain;
    }
}

int statistics_next_row(struct statistics *facts, struct allocation *ret_allocation,
                        const struct pairing_chain **ret_chain, struct error *err)
{
    int more = lifetimes_next(facts->lifetimes, ret_allocation, ret_chain, err);

    if (more > 0 && mtrace_unlikely(facts->ids.threads != NULL))
        renumber_row(facts, ret_allocation, ret_chain);
    if (more > 0) {
        int code = place(facts, ret_allocation, err);
        if (code)
            return code;
    }
    return more;
}

bool statistics_next_left(struct statistics *facts, struct allocation *ret_allocation)
{
    const struct pairing_chain *no_chain = NULL;
    uint64_t occupied;
    uint32_t process;

    if (!left_blocks_next(&facts->left, ret_allocation))
        return false;
    if (facts->ids.threads)
        renumber_row(facts, ret_allocation, &no_chain);
    process = facts->definitions->threads[ret_allocation->thread].process;
    occupied = ret_allocation->size_bytes;
    if (ret_allocation->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += ret_allocation->slack_bytes;
    if (!facts->definitions->processes[process].sample_bytes
        && heap_ranges_is_heap_block(ret_allocation->call, occupied))
        ret_allocation->heap = heap_ranges_find(facts->heaps, process, ret_allocation->address);
    return true;
}

/* Does the same as `place`, for a kept block. */
static int place_kept(struct statistics *facts, const struct moment_block *block,
                      enum facts_moment moment, struct error *err)
{
    struct allocation allocation = {.allocation_id = block->allocation_id,
                                    .address = block->address,
                                    .size_bytes = block->size_bytes,
                                    .slack_bytes = block->slack_bytes,
                                    .node = block->node,
                                    .call = block->call};
    uint64_t occupied = block->size_bytes;

    if (facts->ids.backtraces)
        allocation.node = facts->ids.backtraces[block->node];
    if (block->slack_bytes != LIVE_BLOCK_SLACK_UNKNOWN)
        occupied += block->slack_bytes;
    if (!heap_ranges_is_heap_block(block->call, occupied))
        return 0;
    allocation.heap = heap_ranges_find(facts->heaps, block->process, block->address);
    return heap_pages_add(&facts->pages[moment], &allocation, err);
}

static bool is_placed(const struct statistics *facts, uint32_t process)
{
    return facts->definitions->processes[process].sample_bytes == 0;
}

/* Places the blocks that are live at the end and were (or were not) live at the peak.
 * *ret_n_others: increased by the number of other blocks. */
static int place_live(struct statistics *facts, uint32_t process, bool was_at_peak,
                      size_t *ret_n_others, struct error *err)
{
    const struct live_block *live;
    uint32_t cursor = 0;
    int code = 0;

    while (code == 0 && (live = pairing_next_live(facts->pairing, process, &cursor)) != NULL) {
        const struct moment_block block = moment_blocks_make(process, live);
        if (moment_blocks_was_at_peak(facts->blocks, process, block.allocation_id) == was_at_peak)
            code = place_kept(facts, &block, STATISTICS_AT_END, err);
        else
            ++*ret_n_others;
    }
    return code;
}

/* Places the blocks freed since the peak, and those allocated since. */
static int place_others(struct statistics *facts, uint32_t process, bool has_new, struct error *err)
{
    size_t n_others = 0;
    size_t n;
    const struct moment_block *ended = moment_blocks_ended_since(facts->blocks, process, &n);
    int code = has_new ? place_live(facts, process, false, &n_others, err) : 0;

    for (size_t i = 0; code == 0 && i < n; i++)
        code = place_kept(facts, &ended[i], STATISTICS_AT_PEAK, err);
    return code;
}

/* Blocks live at both moments are placed once and the pages are copied: if memory grows, this is
 * nearly all. */
static int place_all_kept(struct statistics *facts, struct error *err)
{
    size_t n_new = 0;
    int code = 0;

    for (uint32_t id = 1; code == 0 && id <= facts->n_processes; id++)
        if (is_placed(facts, id))
            code = place_live(facts, id, true, &n_new, err);
    if (code == 0)
        code = heap_pages_copy(&facts->pages[STATISTICS_AT_PEAK], &facts->pages[STATISTICS_AT_END],
                               err);
    for (uint32_t id = 1; code == 0 && id <= facts->n_processes; id++)
        if (is_placed(facts, id))
            code = place_others(facts, id, n_new > 0, err);
    return code;
}

int statistics_skip_rows(struct statistics *facts, bool *ret_were_skipped, struct error *err)
{
    int code;

    *ret_were_skipped = facts->blocks != NULL;
    if (!facts->blocks)
        return 0;
    code = init_pages(facts, err);
    if (code == 0)
        code = place_all_kept(facts, err);
    return code ? code : statistics_end_rows(facts, err);
}

int statistics_end_rows(struct statistics *facts, struct error *err)
{
    int code = 0;

    for (int i = 0; code == 0 && i < STATISTICS_MOMENTS; i++)
        code = heap_pages_finish(&facts->pages[i], facts->moments_ns[i], err);
    return code;
}
