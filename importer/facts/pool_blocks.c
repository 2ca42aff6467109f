/* SPDX-License-Identifier: MIT */
#include "importer/facts/pool_blocks.h"

#include "common/varint.h"
#include "importer/facts/address_set.h"
#include "importer/pairing/spill_file.h"
#include "support/growing.h"

#include <stdlib.h>

/* A block of malloc between the two halves of its realloc. */
struct moving {
    struct address_item item;
    uint32_t process;
};

struct pool_blocks {
    const struct definitions *definitions;
    struct pairing *pairing; /* a pool is a process */
    struct fates *fates;
    struct spill_file places;      /* pool and outer id of each block, as varints */
    struct pool_account *accounts; /* by number */
    uint32_t *processes;           /* by number */
    uint32_t n_pools;              /* that have numbers */
    struct facts_room room;
    struct facts_ids ids;      /* all NULL: numbers are ids */
    struct address_set *outer; /* by process; of: 0 */
    struct address_set *inner; /* by process; of: the pool */
    struct moving *moving;
    size_t n_moving, max_moving;
    uint64_t n_pairs;
    uint64_t n_unknown_pools;
    uint64_t
        n_settled_unknown; /* of those before a state was read: a pool that is defined later was none of them */
    uint64_t read_offset;
    size_t n_input, input_at;
    uint8_t input[64 * 2 * VARINT_MAX_BYTES];
};

/* ---- accounts ---- */

/* A peak is one only when time goes on. */
static struct pool_account *account_at(struct pool_blocks *blocks, uint32_t pool, uint64_t time_ns)
{
    struct pool_account *account = &blocks->accounts[pool];

    if (time_ns != account->changed_ns && account->live_bytes > account->peak_bytes) {
        account->peak_bytes = account->live_bytes;
        account->peak_ns = account->changed_ns;
    }
    account->changed_ns = time_ns;
    return account;
}

static uint32_t process_of(const struct pool_blocks *blocks, uint32_t pool)
{
    return blocks->processes[pool];
}

/* ---- what pairing tells ---- */

static uint64_t find_outer(const struct pool_blocks *blocks, uint32_t process, uint64_t address)
{
    const struct address_item *item = address_set_last_at(&blocks->outer[process], address);

    return item && address - item->address < item->size_bytes ? item->id : 0;
}

static int put_place(struct pool_blocks *blocks, uint32_t pool, uint64_t outer_id,
                     struct error *err)
{
    uint8_t bytes[2 * VARINT_MAX_BYTES];
    const uint8_t *end = varint_put(varint_put(bytes, pool), outer_id);

    return spill_file_append(&blocks->places, bytes, (size_t)(end - bytes), err);
}

static int on_born(void *context, uint32_t pool, const struct live_block *block, uint32_t group,
                   const struct pairing_link *link, struct error *err)
{
    struct pool_blocks *blocks = context;
    uint32_t process = process_of(blocks, pool);
    struct pool_account *account = account_at(blocks, pool, block->alloc_ns);
    const struct address_item item = {.address = block->address,
                                      .of = pool,
                                      .size_bytes = block->size,
                                      .id = block->allocation_id};
    int code = address_set_put(&blocks->inner[process], &item, err);

    account->allocated_blocks++;
    account->allocated_bytes += block->size;
    account->live_blocks++;
    account->live_bytes += block->size;
    if (code || !blocks->fates)
        return code;
    code = put_place(blocks, pool, find_outer(blocks, process, block->address), err);
    return code ? code : fates_born(blocks->fates, block, group, false, link, err);
}

static int on_moved(void *context, uint32_t pool, const struct live_block *block,
                    const struct pairing_move *move, struct error *err)
{
    (void)context, (void)pool, (void)block, (void)move, (void)err;
    return 0;
}

static int on_ended(void *context, uint32_t pool, const struct live_block *block,
                    const struct pairing_end *end, struct error *err)
{
    struct pool_blocks *blocks = context;
    struct pool_account *account = account_at(blocks, pool, end->time_ns);

    account->freed_blocks++;
    account->freed_bytes += block->size;
    account->live_blocks--;
    account->live_bytes -= block->size;
    address_set_remove(&blocks->inner[process_of(blocks, pool)], block->address, pool);
    return blocks->fates ? fates_ended(blocks->fates, block, end, err) : 0;
}

static int on_explained(void *context, uint32_t pool, const struct live_block *block,
                        const struct pairing_end *end, struct error *err)
{
    struct pool_blocks *blocks = context;

    (void)pool;
    return blocks->fates ? fates_ended(blocks->fates, block, end, err) : 0;
}

static int on_chain_ended(void *context, const struct pairing_chain *chain, struct error *err)
{
    struct pool_blocks *blocks = context;

    return blocks->fates ? fates_chain_ended(blocks->fates, chain, err) : 0;
}

static int on_left(void *context, uint32_t pool, const struct live_block *block, uint32_t group,
                   enum pairing_ended_by ended_by, uint32_t chain_node, struct error *err)
{
    const struct pairing_end end = {
        .intervening = PAIRING_UNKNOWN, .group = group, .block_group = group, .ended_by = ended_by};

    struct pool_blocks *blocks = context;

    (void)pool, (void)chain_node;
    return ended_by == PAIRING_EXEC && blocks->fates ? fates_ended(blocks->fates, block, &end, err)
                                                     : 0;
}

/* ---- making and freeing ---- */

static int make_arrays(struct pool_blocks *blocks, struct error *err)
{
    size_t n_processes = blocks->room.n_processes;
    size_t n_pools = blocks->room.n_pools;

    blocks->accounts = calloc(n_pools + 1, sizeof(*blocks->accounts));
    blocks->processes = calloc(n_pools + 1, sizeof(*blocks->processes));
    blocks->outer = calloc(n_processes + 1, sizeof(*blocks->outer));
    blocks->inner = calloc(n_processes + 1, sizeof(*blocks->inner));
    return blocks->accounts && blocks->processes && blocks->outer && blocks->inner
               ? 0
               : error_set(err, ERROR_NOMEM, "out of memory for %zu pools", n_pools);
}

/* ids NULL: they are their numbers. */
static void describe_pools(struct pool_blocks *blocks, const uint32_t *ids)
{
    const struct definitions *definitions = blocks->definitions;

    while (blocks->n_pools < definitions->n_pools) {
        uint32_t pool = ++blocks->n_pools;
        uint32_t id = ids ? ids[pool] : pool;
        uint32_t owner = blocks->processes[pool] = definitions->pools[id - 1].process;
        const struct definitions_process *process = &definitions->processes[owner];
        struct pairing_process *traits = pairing_process_get(blocks->pairing, pool);

        traits->has_untracked_blocks = true; /* an unknown end is nobody's inversion */
        traits->ended_in_exec = !process->is_cut && definitions_ended_by(process, "exec");
    }
}

int pool_blocks_new(const struct definitions *definitions, const struct facts_room *room,
                    const char *target, struct pool_blocks **ret, struct error *err)
{
    struct pool_blocks *blocks;
    struct pairing_sink sink = {NULL,         on_born,        on_moved, on_ended,
                                on_explained, on_chain_ended, on_left,  NULL};
    int code;

    *ret = NULL;
    if (definitions->n_pools == 0)
        return 0;
    blocks = calloc(1, sizeof(*blocks));
    if (!blocks)
        return error_set(err, ERROR_NOMEM, "out of memory");
    sink.context = blocks;
    blocks->definitions = definitions;
    blocks->room = *room;
    blocks->places.fd = -1;
    code = make_arrays(blocks, err);
    if (code == 0)
        code = pairing_new(room->n_pools, room->n_threads, &sink, &blocks->pairing, err);
    if (code == 0)
        code = fates_new(target, &blocks->fates, err);
    if (code == 0)
        code = spill_file_open(&blocks->places, target, err);
    if (code) {
        pool_blocks_free(blocks);
        return code;
    }
    describe_pools(blocks, NULL);
    *ret = blocks;
    return 0;
}

bool pool_blocks_continue(struct pool_blocks *blocks, const struct definitions *definitions,
                          const uint32_t *ids)
{
    bool is_new = definitions->n_pools > blocks->n_pools;

    if (definitions->n_pools > blocks->room.n_pools || definitions->n_pools < blocks->n_pools)
        return false;
    if (is_new && blocks->n_unknown_pools) /* it may be the one that something was told of */
        return false;
    blocks->definitions = definitions;
    describe_pools(blocks, ids);
    return true;
}

void pool_blocks_free(struct pool_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; blocks->outer && blocks->inner && i <= blocks->room.n_processes; i++) {
        address_set_done(&blocks->outer[i]);
        address_set_done(&blocks->inner[i]);
    }
    free(blocks->outer);
    free(blocks->inner);
    free(blocks->accounts);
    free(blocks->processes);
    free(blocks->moving);
    pairing_free(blocks->pairing);
    fates_free(blocks->fates);
    spill_file_done(&blocks->places);
    free(blocks);
}

/* ---- events of pools ---- */

static int give(struct pool_blocks *blocks, const struct event *event, enum event_kind kind,
                uint32_t pool, uint64_t address, struct error *err)
{
    struct event given = *event;

    given.kind = (uint8_t)kind;
    given.process = pool;
    given.address = address;
    given.usable = 0;
    given.pair = blocks->n_pairs;
    return pairing_event(blocks->pairing, &given, err);
}

/* Those that lie in the range, of one pool or (0) of all. */
static int end_range(struct pool_blocks *blocks, uint32_t process, const struct event *event,
                     uint32_t pool, uint64_t start, uint64_t end, struct error *err)
{
    const struct address_item *item;
    int code = 0;

    while (code == 0 && start < end
           && (item = address_set_first_at(&blocks->inner[process], start)) != NULL
           && item->address < end) {
        struct address_item found = *item;
        if (pool == 0 || found.of == pool) {
            code = give(blocks, event, EVENT_FREE, found.of, found.address, err);
            start = found.address;
        } else {
            start = found.address + 1;
        }
    }
    return code;
}

static int resize(struct pool_blocks *blocks, const struct event *event, uint32_t pool,
                  struct error *err)
{
    int code;

    blocks->n_pairs++;
    code = give(blocks, event, EVENT_REALLOC_BEGIN, pool, event->old_address, err);
    return code ? code : give(blocks, event, EVENT_REALLOC_END, pool, event->address, err);
}

int pool_blocks_event(struct pool_blocks *blocks, const struct event *event, struct error *err)
{
    uint32_t pool = (uint32_t)event->value;

    if (pool == 0 || pool > blocks->n_pools || process_of(blocks, pool) != event->process) {
        blocks->n_unknown_pools++;
        return 0;
    }
    switch (event->kind) {
    case EVENT_POOL_ALLOC:
        return give(blocks, event, EVENT_ALLOC, pool, event->address, err);
    case EVENT_POOL_FREE:
        return give(blocks, event, EVENT_FREE, pool, event->address, err);
    case EVENT_POOL_RESIZE:
        return resize(blocks, event, pool, err);
    default:
        return end_range(blocks, event->process, event, pool, 0, UINT64_MAX, err);
    }
}

/* ---- malloc's blocks ---- */

static const struct address_item *find_moving(const struct pool_blocks *blocks, uint32_t process,
                                              uint64_t id)
{
    for (size_t i = 0; i < blocks->n_moving; i++)
        if (blocks->moving[i].item.id == id && blocks->moving[i].process == process)
            return &blocks->moving[i].item;
    return NULL;
}

/* What made it of another one ended what lay there, unless it stayed in its place. */
static int settle_moving(struct pool_blocks *blocks, uint32_t process,
                         const struct live_block *block, const struct pairing_link *link,
                         bool *ret_stayed, struct error *err)
{
    const struct address_item *found = find_moving(blocks, process, link->realloc_from_id);
    struct event event = {.time_ns = block->alloc_ns, .thread = block->thread, .node = block->node};
    struct address_item old;

    *ret_stayed = false;
    if (!found)
        return 0;
    old = *found;
    blocks->moving[(size_t)((const struct moving *)(const void *)found - blocks->moving)] =
        blocks->moving[--blocks->n_moving];
    *ret_stayed = old.address == block->address;
    return *ret_stayed ? 0
                       : end_range(blocks, process, &event, 0, old.address,
                                   old.address + old.size_bytes, err);
}

int pool_blocks_outer_born(struct pool_blocks *blocks, uint32_t process,
                           const struct live_block *block, const struct pairing_link *link,
                           struct error *err)
{
    const struct address_item item = {
        .address = block->address, .size_bytes = block->size, .id = block->allocation_id};
    struct event event = {.time_ns = block->alloc_ns, .thread = block->thread, .node = block->node};
    bool has_stayed = false;
    int code = link ? settle_moving(blocks, process, block, link, &has_stayed, err) : 0;

    if (code == 0 && !has_stayed)
        code = end_range(blocks, process, &event, 0, item.address, item.address + item.size_bytes,
                         err);
    return code || !blocks->fates ? code : address_set_put(&blocks->outer[process], &item, err);
}

static int begin_moving(struct pool_blocks *blocks, uint32_t process,
                        const struct live_block *block, struct error *err)
{
    struct moving *moving =
        growing_reserve(blocks->moving, &blocks->max_moving, blocks->n_moving + 1, sizeof(*moving));

    if (!moving)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu open reallocs", blocks->n_moving);
    blocks->moving = moving;
    moving[blocks->n_moving++] = (struct moving){
        {.address = block->address, .size_bytes = block->size, .id = block->allocation_id},
        process};
    return 0;
}

int pool_blocks_outer_ended(struct pool_blocks *blocks, uint32_t process,
                            const struct live_block *block, const struct pairing_end *end,
                            struct error *err)
{
    struct event event = {.time_ns = end->time_ns,
                          .thread = end->thread ? end->thread : block->thread,
                          .node = end->node,
                          .group = end->group};

    if (blocks->fates)
        address_set_remove(&blocks->outer[process], block->address, 0);
    if (end->ended_by == PAIRING_REALLOCATED)
        return begin_moving(blocks, process, block, err);
    return end_range(blocks, process, &event, 0, block->address, block->address + block->size, err);
}

void pool_blocks_set_exec(struct pool_blocks *blocks, uint32_t process, bool ended_in_exec)
{
    for (uint32_t pool = 1; pool <= blocks->n_pools; pool++)
        if (process_of(blocks, pool) == process)
            pairing_process_get(blocks->pairing, pool)->ended_in_exec = ended_in_exec;
}

/* ---- rows ---- */

int pool_blocks_finish(struct pool_blocks *blocks, struct error *err)
{
    int code;

    for (uint32_t pool = 1; pool <= blocks->n_pools; pool++)
        account_at(blocks, pool, UINT64_MAX);
    code = pairing_finish(blocks->pairing, err);
    if (code || !blocks->fates)
        return code;
    code = spill_file_flush(&blocks->places, err);
    return code ? code : fates_rewind(blocks->fates, err);
}

int pool_blocks_renumber(struct pool_blocks *blocks, const struct facts_ids *ids, struct error *err)
{
    struct pool_account *accounts = calloc((size_t)blocks->n_pools + 1, sizeof *accounts);

    if (!accounts)
        return error_set(err, ERROR_NOMEM, "out of memory for %u pools", blocks->n_pools);
    for (uint32_t number = 1; number <= blocks->n_pools; number++)
        accounts[ids->pools[number]] = blocks->accounts[number];
    free(blocks->accounts);
    blocks->accounts = accounts;
    blocks->ids = *ids;
    return 0;
}

static void put_ids(const struct facts_ids *ids, struct pool_row *row)
{
    struct allocation *block = &row->block;

    row->pool = ids->pools[row->pool];
    block->thread = ids->threads[block->thread];
    block->free_thread = ids->threads[block->free_thread];
    block->node = ids->backtraces[block->node];
    block->free_node = ids->backtraces[block->free_node];
}

static int fill_input(struct pool_blocks *blocks, struct error *err)
{
    blocks->read_offset += blocks->input_at;
    blocks->input_at = 0;
    return spill_file_read(&blocks->places, blocks->read_offset, blocks->input,
                           sizeof(blocks->input), &blocks->n_input, err);
}

static int next_place(struct pool_blocks *blocks, struct pool_row *ret, struct error *err)
{
    const uint8_t *end;
    const uint8_t *at;
    uint64_t pool = 0;
    int code = 0;

    if (blocks->n_input - blocks->input_at < (size_t)2 * VARINT_MAX_BYTES)
        code = fill_input(blocks, err);
    if (code)
        return code;
    end = blocks->input + blocks->n_input;
    at = varint_get(blocks->input + blocks->input_at, end, &pool);
    if (at)
        at = varint_get(at, end, &ret->outer_id);
    if (!at)
        return error_set(err, ERROR_IO, "a temporary file is shorter than what was written to it");
    blocks->input_at = (size_t)(at - blocks->input);
    ret->pool = (uint32_t)pool;
    return 0;
}

int pool_blocks_next(struct pool_blocks *blocks, struct pool_row *ret, struct error *err)
{
    const struct pairing_chain *chain = NULL;
    int more = fates_next(blocks->fates, &ret->block, &chain, err);

    if (more <= 0)
        return more;
    int code = next_place(blocks, ret, err);
    if (code == 0 && blocks->ids.pools)
        put_ids(&blocks->ids, ret);
    return code ? code : 1;
}

uint64_t pool_blocks_find(const struct pool_blocks *blocks, uint32_t process, uint64_t address,
                          uint64_t size_bytes, uint64_t *ret_size_bytes)
{
    const struct address_set *set = &blocks->inner[process];
    const struct address_item *item = address_set_first_at(set, address);
    const struct address_item *best = NULL;

    for (; item && item->address == address; item = address_set_next(set, item))
        if (item->size_bytes >= size_bytes && (!best || item->size_bytes < best->size_bytes))
            best = item;
    if (!best)
        return 0;
    *ret_size_bytes = best->size_bytes;
    return best->id;
}

const struct pool_account *pool_blocks_account(const struct pool_blocks *blocks, uint32_t pool)
{
    return &blocks->accounts[pool];
}

uint64_t pool_blocks_n_unknown(const struct pool_blocks *blocks)
{
    const struct pairing_counts *counts = pairing_counts_get(blocks->pairing);

    return blocks->n_unknown_pools + blocks->n_settled_unknown + counts->untracked_frees
           + counts->unknown_frees + counts->unknown_reallocs;
}

/* ---- without rows, and as bytes ---- */

void pool_blocks_leave_rows_out(struct pool_blocks *blocks)
{
    fates_free(blocks->fates);
    blocks->fates = NULL;
    spill_file_done(&blocks->places);
}

/* inner has what is live of each pool. */
static void fill_inner(struct pool_blocks *blocks, struct state_io *io)
{
    for (uint32_t pool = 1; pool <= blocks->n_pools && state_io_code(io) == 0; pool++) {
        const struct live_block *block;
        uint32_t cursor = 0;
        while ((block = pairing_next_live(blocks->pairing, pool, &cursor)) != NULL) {
            const struct address_item item = {.address = block->address,
                                              .of = pool,
                                              .size_bytes = block->size,
                                              .id = block->allocation_id};
            if (address_set_put(&blocks->inner[process_of(blocks, pool)], &item, NULL) != 0)
                state_no_memory(io);
        }
    }
}

static void visit_moving(struct pool_blocks *blocks, struct state_io *io)
{
    blocks->moving = state_array(io, blocks->moving, &blocks->n_moving, &blocks->max_moving,
                                 STATE_MOST, sizeof *blocks->moving);
    for (size_t i = 0; i < blocks->n_moving; i++) {
        const struct moving *moving = &blocks->moving[i];
        state_check(io,
                    moving->process && moving->process <= blocks->room.n_processes
                        && moving->item.address >> LOG_ADDRESS_BITS == 0
                        && moving->item.size_bytes <= EVENT_MAX_BYTES,
                    "a block that moves");
    }
}

void pool_blocks_visit(struct pool_blocks *blocks, uint32_t n_processes, uint32_t n_groups,
                       struct state_io *io)
{
    const struct live_table_most most = {
        .n_nodes = blocks->room.n_nodes, .n_processes = blocks->room.n_pools, .n_groups = n_groups};
    size_t n_pools = blocks->n_pools;

    state_count(io, &n_pools, blocks->room.n_pools);
    blocks->n_pools = (uint32_t)n_pools;
    for (size_t pool = 1; pool <= n_pools; pool++) {
        state_u32(io, &blocks->processes[pool]);
        STATE_IMAGE(io, &blocks->accounts[pool]);
        state_check(io, blocks->processes[pool] && blocks->processes[pool] <= n_processes,
                    "whose a pool is");
    }
    visit_moving(blocks, io);
    state_u64(io, &blocks->n_pairs);
    uint64_t n_unknown = blocks->n_unknown_pools + blocks->n_settled_unknown;
    state_u64(io, &n_unknown);
    pairing_visit(blocks->pairing, &most, io);
    if (!state_io_is_loading(io))
        return;
    blocks->n_settled_unknown = n_unknown;
    fill_inner(blocks, io);
}

void pool_blocks_begin_late(struct pool_blocks *blocks)
{
    blocks->n_pools = 0; /* described when it goes on: by their numbers, not by ids */
}
