/* SPDX-License-Identifier: MIT */
/* statistics_blocks: the sink of the pairing; counts what happens to each block. */
#include "importer/totals/statistics.h"
#include "lib/abi/attr.h"

#include <string.h>

/* Data of a block that several functions below count. */
struct counted {
    struct totals_block block;
    uint64_t occupied;  /* bytes */
    bool has_address;   /* has an address, not only a size */
    bool is_heap_block; /* no mapping of its own (HR-2) */
};

static inline void count(const struct statistics *statistics, uint32_t process,
                         const struct live_block *block, struct counted *ret)
{
    totals_block_read(statistics->totals, process, block, &ret->block);
    ret->has_address = !statistics->definitions->has_no_addresses;
    ret->occupied = ret->block.size + ret->block.slack;
    ret->is_heap_block = heap_ranges_is_heap_block(block->call, ret->occupied);
}

static int mapped_block(struct statistics *statistics, uint32_t process, uint64_t address,
                        uint64_t usable_bytes, struct error *err)
{
    uint64_t page_bytes = statistics->page_bytes[process];
    uint64_t end = (address + usable_bytes + page_bytes - 1) / page_bytes * page_bytes;

    return address_ranges_add(&statistics->processes[process].mapped_blocks,
                              address / page_bytes * page_bytes, end, err);
}

static void mapped_block_ended(struct statistics *statistics, uint32_t process, uint64_t address)
{
    uint64_t page_bytes = statistics->page_bytes[process];

    address_ranges_remove(&statistics->processes[process].mapped_blocks,
                          address / page_bytes * page_bytes);
}

/* Keeps sums in range: EV-6 limits the recorded bytes, but samples stand for more. */
static MTRACE_COLD int check_sum(struct statistics *statistics, const struct counted *counted,
                                 struct error *err)
{
    uint64_t most = EVENT_MAX_SUM - statistics->estimated_bytes;
    uint64_t occupied = counted->occupied | 1;

    if (occupied > most / counted->block.weight.blocks)
        return error_set(err, ERROR_FORMAT,
                         "the log is damaged: its samples stand for more memory than there can be");
    statistics->estimated_bytes += occupied * counted->block.weight.blocks;
    return 0;
}

/* Stored in the block's row, which lacks parts of the salt. */
static bool is_above(const struct statistics *statistics, uint32_t process,
                     const struct live_block *block)
{
    uint64_t mean_bytes = statistics->totals->processes[process].sample_bytes;

    return mtrace_unlikely(mean_bytes != 0)
           && sample_weight_is_above(mean_bytes, block->size, live_block_salt(block));
}

static int on_allocated(void *context, uint32_t process, const struct live_block *block,
                        uint32_t group, const struct pairing_link *link, struct error *err)
{
    struct statistics *statistics = context;
    struct process_statistics *own = &statistics->processes[process];
    struct counted counted;
    const struct sample_weight *weight = &counted.block.weight;

    count(statistics, process, block, &counted);
    int code = totals_allocated(statistics->totals, process, &counted.block, link, err);

    own->allocated_bytes += weight->bytes;
    timeline_count_allocation(&own->timeline, weight);
    if (code == 0 && mtrace_unlikely(weight->blocks > 1))
        code = check_sum(statistics, &counted, err);
    if (code == 0 && counted.has_address && mtrace_likely(counted.is_heap_block))
        code =
            heap_ranges_allocated(statistics->heaps,
                                  &(struct heap_allocation){.time_ns = counted.block.allocated_ns,
                                                            .address = block->address,
                                                            .usable_bytes = counted.occupied,
                                                            .process = process,
                                                            .call = block->call},
                                  err);
    else if (code == 0 && counted.has_address)
        code = mapped_block(statistics, process, block->address, counted.occupied, err);
    if (code == 0 && statistics->groups)
        code = group_totals_allocated(statistics->groups, process, block, group, err);
    if (code == 0 && statistics->pools)
        code = pool_blocks_outer_allocated(statistics->pools, process, block, link, err);
    return code || !statistics->lifetimes
               ? code
               : lifetimes_allocated(statistics->lifetimes, block, group,
                                     is_above(statistics, process, block), link, err);
}

/* Writes a row for the move; the block's own row has only its last group. */
static int write_move(const struct statistics *statistics, const struct live_block *block,
                      const struct pairing_move *move, struct error *err)
{
    const struct statistics_move reported = {.allocation_id = block->allocation_id,
                                             .at_ns = move->time_ns,
                                             .from_group = move->from_group,
                                             .group = move->group};

    return statistics->sink.move ? statistics->sink.move(statistics->sink.context, &reported, err)
                                 : 0;
}

static int on_moved(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_move *move, struct error *err)
{
    struct statistics *statistics = context;
    int code =
        statistics->groups ? group_totals_moved(statistics->groups, process, block, move, err) : 0;

    if (code || !statistics->lifetimes)
        return code;
    code = lifetimes_moved(statistics->lifetimes, block, move->group, err);
    return code ? code : write_move(statistics, block, move, err);
}

static int on_ended(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct statistics *statistics = context;
    struct process_statistics *own = &statistics->processes[process];
    struct counted counted;
    const struct sample_weight *weight = &counted.block.weight;

    count(statistics, process, block, &counted);
    int code = totals_ended(statistics->totals, process, &counted.block, end, err);

    if (mtrace_unlikely(counted.has_address && !counted.is_heap_block))
        mapped_block_ended(statistics, process, block->address);
    timeline_count_end(&own->timeline, weight);
    if (code == 0 && statistics->groups)
        code = group_totals_ended(statistics->groups, process, block, end, err);
    if (code == 0 && statistics->pools)
        code = pool_blocks_outer_ended(statistics->pools, process, block, end, err);
    if (code == 0 && statistics->blocks)
        code = moment_blocks_ended(statistics->blocks, process, block, err);
    return code || !statistics->lifetimes ? code
                                          : lifetimes_ended(statistics->lifetimes, block, end, err);
}

static int on_explained(void *context, uint32_t process, const struct live_block *block,
                        const struct pairing_end *end, struct error *err)
{
    struct statistics *statistics = context;
    struct totals_block counted;

    totals_block_read(statistics->totals, process, block, &counted);
    int code = totals_explained(statistics->totals, process, &counted, end, err);

    if (code == 0 && statistics->groups)
        code = group_totals_explained(statistics->groups, process, block, end, err);
    return code || !statistics->lifetimes ? code
                                          : lifetimes_ended(statistics->lifetimes, block, end, err);
}

static int on_chain_ended(void *context, const struct pairing_chain *chain, struct error *err)
{
    struct statistics *statistics = context;
    bool leaked = chain->end_ns == PAIRING_UNKNOWN
                  && !pairing_process_get(statistics->pairing, chain->process)->ended_in_exec;
    int code = chain_totals_add(&statistics->chains, chain, leaked, err);

    return code || !statistics->lifetimes
               ? code
               : lifetimes_chain_ended(statistics->lifetimes, chain, err);
}

/* leaked_allocations.part: the time from the begin of the first window to the end of the last one
 * is divided. */
static struct life_part find_part(const struct statistics *statistics, uint32_t process,
                                  uint64_t time_ns)
{
    const struct process_statistics *own = &statistics->processes[process];
    uint64_t start_ns = windows_start_ns(&own->windows, own->timeline.start_ns);
    uint64_t end_ns = windows_end_ns(&own->windows, own->last_ns);
    uint64_t part_ns = end_ns > start_ns ? (end_ns - start_ns) / ALLOCATION_PARTS : 0;
    uint64_t part = part_ns && time_ns > start_ns ? (time_ns - start_ns) / part_ns : 0;

    if (part >= ALLOCATION_PARTS)
        part = ALLOCATION_PARTS - 1;
    bool is_last = part_ns == 0 || part == ALLOCATION_PARTS - 1;
    return (struct life_part){.from_ns = part ? start_ns + part * part_ns : 0,
                              .to_ns = is_last ? UINT64_MAX : start_ns + (part + 1) * part_ns,
                              .number = (uint32_t)part};
}

/* Blocks reported in a row were mostly allocated at similar times. */
static inline uint32_t part_of_life(struct statistics *statistics, uint32_t process,
                                    uint64_t time_ns)
{
    struct life_part *found = &statistics->processes[process].life_part;

    if (time_ns < found->from_ns || time_ns >= found->to_ns)
        *found = find_part(statistics, process, time_ns);
    return found->number;
}

static inline int count_leaked_allocation(struct statistics *statistics, uint32_t process,
                                          const struct live_block *block,
                                          const struct sample_weight *weight, struct error *err)
{
    return totals_leaked_allocation(statistics->totals, process, block->backtrace,
                                    part_of_life(statistics, process, block->alloc_ns), weight,
                                    err);
}

static int on_leaked(struct statistics *statistics, uint32_t process,
                     const struct live_block *block, uint32_t group, struct error *err)
{
    const struct sample_weight weight = totals_weight(statistics->totals, process, block);
    int code = count_leaked_allocation(statistics, process, block, &weight, err);

    timeline_count_leak(&statistics->processes[process].timeline, block->alloc_ns, &weight);
    if (statistics->processes[process].phases.n)
        phases_leaked(&statistics->processes[process].phases, block->allocation_id, weight.blocks,
                      weight.bytes);
    windows_leaked(&statistics->processes[process].windows, block->allocation_id, weight.blocks,
                   weight.bytes);
    if (code == 0 && statistics->groups)
        code = group_totals_leaked(statistics->groups, process, block, group, err);
    return code;
}

static int on_live_at_end(void *context, uint32_t process, const struct live_block *block,
                          uint32_t group, enum pairing_ended_by ended_by, uint32_t chain_backtrace,
                          struct error *err)
{
    struct statistics *statistics = context;
    struct pairing_end end = {
        .intervening = PAIRING_UNKNOWN, .group = group, .block_group = group, .ended_by = ended_by};
    int code =
        totals_live_at_end(statistics->totals, process, block, ended_by, chain_backtrace, err);

    if (code == 0 && statistics->left.is_wanted)
        code = leaked_blocks_add(&statistics->left, block, group, ended_by, err);
    if (code == 0 && ended_by == PAIRING_LEAKED)
        code = on_leaked(statistics, process, block, group, err);
    if (code == 0 && ended_by == PAIRING_EXEC && statistics->lifetimes)
        code = lifetimes_ended(statistics->lifetimes, block, &end, err);
    return code;
}

/* The common case: a single window since the start of the process contains all blocks. */
static bool has_one_window(const struct windows *windows)
{
    return windows->n == 1 && windows->list[0].first_allocation <= 1;
}

/* Are only stack, thread, class and time of a leaked block counted? */
static bool is_bare(const struct statistics *statistics, uint32_t process)
{
    return !statistics->left.is_wanted && !statistics->groups
           && statistics->totals->processes[process].sample_bytes == 0
           && statistics->processes[process].phases.n == 0
           && has_one_window(&statistics->processes[process].windows);
}

static int on_left_run(void *context, uint32_t process, const struct live_block *places,
                       size_t n_places, size_t *ret_n_others, struct error *err)
{
    struct statistics *statistics = context;
    struct process_statistics *own = &statistics->processes[process];
    struct sample_weight all = {0};
    int code = 0;

    if (!is_bare(statistics, process)) {
        *ret_n_others = n_places;
        for (size_t i = 0; code == 0 && i < n_places; i++)
            if (pairing_is_single(&places[i]))
                code = on_live_at_end(statistics, process, &places[i], 0, PAIRING_LEAKED,
                                      places[i].backtrace, err);
        return code;
    }
    code =
        totals_live_at_end_batch(statistics->totals, process, places, n_places, ret_n_others, err);
    for (size_t i = 0; code == 0 && i < n_places; i++) {
        const struct sample_weight weight = {.blocks = 1, .bytes = places[i].size};
        if (!pairing_is_single(&places[i]))
            continue;
        timeline_count_leak(&own->timeline, places[i].alloc_ns, &weight);
        code = count_leaked_allocation(statistics, process, &places[i], &weight, err);
        all.blocks++;
        all.bytes += weight.bytes;
    }
    windows_leaked(&own->windows, own->windows.list[0].first_allocation, all.blocks, all.bytes);
    return code;
}

/* Beyond this number unmatched frees have no row; meta counts all of them. */
#define MAX_UNMATCHED_FREES 100000

/* A program that frees blocks of an allocator that is not recorded may do so a million times. */
static int on_unmatched(void *context, const struct pairing_unmatched *unmatched, struct error *err)
{
    const struct statistics *statistics = context;
    const struct pairing_counts *counts = pairing_counts_get(statistics->pairing);
    const struct event row = {.kind = EVENT_UNMATCHED_FREE,
                              .time_ns = unmatched->time_ns,
                              .address = unmatched->address,
                              .value = unmatched->is_realloc,
                              .process = unmatched->process,
                              .thread = unmatched->thread,
                              .backtrace = unmatched->backtrace};

    return counts->unknown_frees + counts->unknown_reallocs <= MAX_UNMATCHED_FREES
               ? statistics->sink.event(statistics->sink.context, &row, err)
               : 0;
}

struct pairing_sink statistics_blocks_sink(struct statistics *statistics)
{
    return (struct pairing_sink){statistics,   on_allocated,   on_moved,
                                 on_ended,     on_explained,   on_chain_ended,
                                 on_unmatched, on_live_at_end, on_left_run};
}
