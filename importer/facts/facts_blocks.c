/* SPDX-License-Identifier: MIT */
/* Facts: what becomes of each block, as pairing tells it, counted by all parts. */
#include "importer/facts/facts_parts.h"

#include <string.h>

enum {
    LIFE_PARTS = 64
};

static uint64_t occupied_bytes(const struct live_block *block)
{
    uint64_t slack = live_block_slack(block);

    return block->size + (slack == LIVE_BLOCK_SLACK_UNKNOWN ? 0 : slack);
}

/* What it has of the memory that no heap accounts for (HR-2), and of the heaps. */
struct shares {
    uint64_t own_bytes, heap_bytes;
};

static struct shares shares_of(const struct facts *facts, const struct live_block *block)
{
    uint64_t occupied = occupied_bytes(block);

    if (facts->definitions->has_no_addresses)
        return (struct shares){0};
    return heap_ranges_is_heap_block(block->call, occupied)
               ? (struct shares){.heap_bytes = occupied}
               : (struct shares){.own_bytes = occupied};
}

/* It shows how far its heap reaches, and which blocks lie where. */
static int born_in_heap(struct facts *facts, uint32_t process, const struct live_block *block,
                        struct error *err)
{
    const struct heap_birth birth = {.time_ns = block->alloc_ns,
                                     .address = block->address,
                                     .usable_bytes = occupied_bytes(block),
                                     .process = process,
                                     .call = block->call};
    int code = heap_ranges_born(facts->heaps, &birth, err);

    if (code || !(block->call & LOG_CHUNK_KNOWN)
        || !heap_ranges_is_heap_block(block->call, birth.usable_bytes))
        return code;
    return memory_samples_born(
        facts->memory_samples, process,
        &(struct seen_extent){.start = birth.address,
                              .end = birth.address + birth.usable_bytes,
                              .is_arena = (block->call & LOG_CHUNK_NON_MAIN) != 0},
        err);
}

/* As EV-6 has it of what is recorded, so here of what that stands for. */
static int check_sum(struct facts *facts, const struct live_block *block,
                     const struct sample_weight *weight, struct error *err)
{
    uint64_t most = EVENT_MAX_SUM - facts->estimated_bytes;
    uint64_t occupied = occupied_bytes(block) | 1;

    if (occupied > most / weight->blocks)
        return error_set(err, ERROR_FORMAT,
                         "the log is damaged: its samples stand for more memory than there can be");
    facts->estimated_bytes += occupied * weight->blocks;
    return 0;
}

static int on_born(void *context, uint32_t process, const struct live_block *block, uint32_t group,
                   const struct pairing_link *link, struct error *err)
{
    struct facts *facts = context;
    struct process_facts *own = &facts->processes[process];
    const struct shares shares = shares_of(facts, block);
    const struct sample_weight weight = totals_weight(facts->totals, process, block);
    int code = totals_born(facts->totals, process, block, link, err);

    own->own_block_bytes += shares.own_bytes * weight.blocks;
    own->heap_block_bytes += shares.heap_bytes * weight.blocks;
    own->allocated_bytes += weight.bytes;
    timeline_count_birth(&own->timeline, &weight);
    if (code == 0 && weight.blocks > 1)
        code = check_sum(facts, block, &weight, err);
    if (code == 0 && !facts->definitions->has_no_addresses)
        code = born_in_heap(facts, process, block, err);
    if (code == 0 && facts->groups)
        code = group_totals_born(facts->groups, process, block, group, err);
    if (code == 0 && facts->pools)
        code = pool_blocks_outer_born(facts->pools, process, block, link, err);
    return code || !facts->fates ? code : fates_born(facts->fates, block, group, link, err);
}

/* A row says only whose the block was at last. */
static int write_move(const struct facts *facts, const struct live_block *block,
                      const struct pairing_move *move, struct error *err)
{
    const struct facts_move told = {.allocation_id = block->allocation_id,
                                    .at_ns = move->time_ns,
                                    .from_group = move->from_group,
                                    .group = move->group};

    return facts->sink.move ? facts->sink.move(facts->sink.context, &told, err) : 0;
}

static int on_moved(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_move *move, struct error *err)
{
    struct facts *facts = context;
    int code = facts->groups ? group_totals_moved(facts->groups, process, block, move, err) : 0;

    if (code || !facts->fates)
        return code;
    code = fates_moved(facts->fates, block, move->group, err);
    return code ? code : write_move(facts, block, move, err);
}

static int on_ended(void *context, uint32_t process, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct facts *facts = context;
    struct process_facts *own = &facts->processes[process];
    const struct shares shares = shares_of(facts, block);
    const struct sample_weight weight = totals_weight(facts->totals, process, block);
    int code = totals_ended(facts->totals, process, block, end, err);

    own->own_block_bytes -= shares.own_bytes * weight.blocks;
    own->heap_block_bytes -= shares.heap_bytes * weight.blocks;
    timeline_count_end(&own->timeline, &weight);
    if (code == 0 && facts->groups)
        code = group_totals_ended(facts->groups, process, block, end, err);
    if (code == 0 && facts->pools)
        code = pool_blocks_outer_ended(facts->pools, process, block, end, err);
    if (code == 0 && facts->blocks)
        code = moment_blocks_ended(facts->blocks, process, block, err);
    return code || !facts->fates ? code : fates_ended(facts->fates, block, end, err);
}

static int on_explained(void *context, uint32_t process, const struct live_block *block,
                        const struct pairing_end *end, struct error *err)
{
    struct facts *facts = context;
    int code = totals_explained(facts->totals, process, block, end, err);

    if (code == 0 && facts->groups)
        code = group_totals_explained(facts->groups, process, block, end, err);
    return code || !facts->fates ? code : fates_ended(facts->fates, block, end, err);
}

static int on_chain_ended(void *context, const struct pairing_chain *chain, struct error *err)
{
    struct facts *facts = context;
    bool leaked = chain->end_ns == PAIRING_UNKNOWN
                  && !pairing_process_get(facts->pairing, chain->process)->ended_in_exec;
    int code = chain_totals_add(&facts->chains, chain, leaked, err);

    return code || !facts->fates ? code : fates_chain_ended(facts->fates, chain, err);
}

/* leaked_births.part: of the time from the first window to the end of the last one */
static uint32_t part_of_life(const struct facts *facts, uint32_t process, uint64_t time_ns)
{
    const struct process_facts *own = &facts->processes[process];
    uint64_t start_ns = windows_start_ns(&own->windows, own->timeline.start_ns);
    uint64_t end_ns = windows_end_ns(&own->windows, own->last_ns);
    uint64_t part_ns = end_ns > start_ns ? (end_ns - start_ns) / LIFE_PARTS : 0;
    uint64_t part = part_ns && time_ns > start_ns ? (time_ns - start_ns) / part_ns : 0;

    return part < LIFE_PARTS ? (uint32_t)part : LIFE_PARTS - 1;
}

static int on_leaked(struct facts *facts, uint32_t process, const struct live_block *block,
                     uint32_t group, struct error *err)
{
    const struct sample_weight weight = totals_weight(facts->totals, process, block);
    int code = facts->is_lean ? 0
                              : tally_add(&facts->totals->leaked_births, process, block->node,
                                          part_of_life(facts, process, block->alloc_ns),
                                          weight.blocks, weight.bytes, err);

    timeline_count_leak(&facts->processes[process].timeline, block->alloc_ns, &weight);
    if (facts->processes[process].phases.n)
        phases_leaked(&facts->processes[process].phases, block->allocation_id, weight.blocks,
                      weight.bytes);
    windows_leaked(&facts->processes[process].windows, block->allocation_id, weight.blocks,
                   weight.bytes);
    if (code == 0 && facts->groups)
        code = group_totals_leaked(facts->groups, process, block, group, err);
    return code;
}

static int on_left(void *context, uint32_t process, const struct live_block *block, uint32_t group,
                   enum pairing_ended_by ended_by, uint32_t chain_node, struct error *err)
{
    struct facts *facts = context;
    struct pairing_end end = {
        .intervening = PAIRING_UNKNOWN, .group = group, .block_group = group, .ended_by = ended_by};
    int code = totals_left(facts->totals, process, block, ended_by, chain_node, err);

    if (code == 0 && facts->blocks)
        code = moment_blocks_left(facts->blocks, process, block, err);
    if (code == 0 && facts->left.is_wanted)
        code = left_blocks_add(&facts->left, block, group, ended_by, err);
    if (code == 0 && ended_by == PAIRING_LEAKED)
        code = on_leaked(facts, process, block, group, err);
    if (code == 0 && ended_by == PAIRING_EXEC && facts->fates)
        code = fates_ended(facts->fates, block, &end, err);
    return code;
}

struct pairing_sink facts_blocks_sink(struct facts *facts)
{
    return (struct pairing_sink){facts,        on_born,        on_moved, on_ended,
                                 on_explained, on_chain_ended, on_left};
}
