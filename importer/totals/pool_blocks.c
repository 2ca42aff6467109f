/* SPDX-License-Identifier: MIT */
#include "importer/totals/pool_blocks.h"

#include "importer/pairing/spill_file.h"
#include "importer/totals/address_set.h"
#include "lib/abi/varint.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>

/* A malloc block between the two events of its realloc, or in moving_taken one that the pool `of`
 * has taken. */
struct moving {
    struct address_item item;
    uint32_t process;
};

struct movings {
    struct moving *list;
    size_t n, capacity;
};

struct pool_blocks {
    const struct definitions *definitions;
    struct pairing *pairing; /* each pool is a process of it */
    struct lifetimes *lifetimes;
    struct spill_file places;      /* pool and outer id of each block, as varints */
    struct pool_account *accounts; /* by number */
    uint32_t *processes;           /* by number */
    uint32_t n_pools;              /* with numbers */
    struct statistics_room room;
    struct statistics_ids ids; /* all NULL: numbers are ids */
    struct address_set *outer; /* by process: live malloc blocks; of: 0 */
    struct address_set *inner; /* by process: live pool blocks; of: the pool */
    struct address_set *taken; /* by process: live malloc blocks; of: a pool that took it (PB-4) */
    struct movings moving, moving_taken;
    uint64_t n_pairs;
    uint64_t n_unknown_pools;
    uint64_t read_offset;
    size_t n_input, input_at;
    uint8_t input[64 * 2 * VARINT_MAX_BYTES];
};

/* ---- accounts ---- */

/* The account at time_ns. Live bytes are compared with the peak only when time advances. */
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

static struct address_item item_of(const struct live_block *block, uint32_t of)
{
    return (struct address_item){
        .address = block->address, .of = of, .size_bytes = block->size, .id = block->allocation_id};
}

/* ---- sink of the pairing ---- */

/* The malloc block that contains the address; NULL: none. */
static const struct address_item *find_outer(const struct pool_blocks *blocks, uint32_t process,
                                             uint64_t address)
{
    const struct address_item *item = address_set_last_at(&blocks->outer[process], address);

    return item && address - item->address < item->size_bytes ? item : NULL;
}

/* Has the pool taken the malloc block at the address (PB-4)? */
static bool has_taken(const struct address_set *taken, uint64_t address, uint32_t pool)
{
    const struct address_item *item = address_set_first_at(taken, address);

    while (item && item->address == address && item->of != pool)
        item = address_set_next(taken, item);
    return item && item->address == address;
}

/* Adds the malloc block to those taken by the pool (PB-4). */
static int take_outer(struct pool_blocks *blocks, uint32_t process, uint32_t pool,
                      const struct address_item *outer, struct error *err)
{
    struct address_set *taken = &blocks->taken[process];
    struct address_item item = *outer;

    if (has_taken(taken, outer->address, pool))
        return 0;
    item.of = pool;
    blocks->accounts[pool].taken_blocks++;
    blocks->accounts[pool].taken_bytes += item.size_bytes;
    return address_set_put(taken, &item, err);
}

static int put_place(struct pool_blocks *blocks, uint32_t pool, uint64_t outer_id,
                     struct error *err)
{
    uint8_t bytes[2 * VARINT_MAX_BYTES];
    const uint8_t *end = varint_put(varint_put(bytes, pool), outer_id);

    return spill_file_append(&blocks->places, bytes, (size_t)(end - bytes), err);
}

static int on_allocated(void *context, uint32_t pool, const struct live_block *block,
                        uint32_t group, const struct pairing_link *link, struct error *err)
{
    struct pool_blocks *blocks = context;
    uint32_t process = process_of(blocks, pool);
    struct pool_account *account = account_at(blocks, pool, block->alloc_ns);
    const struct address_item item = item_of(block, pool);
    const struct address_item *outer = find_outer(blocks, process, block->address);
    int code = address_set_put(&blocks->inner[process], &item, err);

    account->allocated_blocks++;
    account->allocated_bytes += block->size;
    account->live_blocks++;
    account->live_bytes += block->size;
    if (code == 0 && outer)
        code = take_outer(blocks, process, pool, outer, err);
    if (code || !blocks->lifetimes)
        return code;
    code = put_place(blocks, pool, outer ? outer->id : 0, err);
    return code ? code : lifetimes_allocated(blocks->lifetimes, block, group, false, link, err);
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
    return blocks->lifetimes ? lifetimes_ended(blocks->lifetimes, block, end, err) : 0;
}

static int on_explained(void *context, uint32_t pool, const struct live_block *block,
                        const struct pairing_end *end, struct error *err)
{
    struct pool_blocks *blocks = context;

    (void)pool;
    return blocks->lifetimes ? lifetimes_ended(blocks->lifetimes, block, end, err) : 0;
}

static int on_chain_ended(void *context, const struct pairing_chain *chain, struct error *err)
{
    struct pool_blocks *blocks = context;

    return blocks->lifetimes ? lifetimes_chain_ended(blocks->lifetimes, chain, err) : 0;
}

static int on_live_at_end(void *context, uint32_t pool, const struct live_block *block,
                          uint32_t group, enum pairing_ended_by ended_by, uint32_t chain_backtrace,
                          struct error *err)
{
    const struct pairing_end end = {
        .intervening = PAIRING_UNKNOWN, .group = group, .block_group = group, .ended_by = ended_by};

    struct pool_blocks *blocks = context;

    (void)pool, (void)chain_backtrace;
    return ended_by == PAIRING_EXEC && blocks->lifetimes
               ? lifetimes_ended(blocks->lifetimes, block, &end, err)
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
    blocks->taken = calloc(n_processes + 1, sizeof(*blocks->taken));
    return blocks->accounts && blocks->processes && blocks->outer && blocks->inner && blocks->taken
               ? 0
               : error_set(err, ERROR_NOMEM, "out of memory for %zu pools", n_pools);
}

/* Adds new pools of the definitions. ids NULL: ids equal numbers. */
static void describe_pools(struct pool_blocks *blocks, const uint32_t *ids)
{
    const struct definitions *definitions = blocks->definitions;

    while (blocks->n_pools < definitions->n_pools) {
        uint32_t pool = ++blocks->n_pools;
        uint32_t id = ids ? ids[pool] : pool;
        uint32_t owner = blocks->processes[pool] = definitions->pools[id - 1].process;
        const struct definitions_process *process = &definitions->processes[owner];
        struct pairing_process *traits = pairing_process_get(blocks->pairing, pool);

        traits->has_untracked_blocks = true; /* so that no unknown end is taken for an inversion */
        traits->ended_in_exec = !process->is_cut && definitions_ended_by(process, "exec");
    }
}

int pool_blocks_new(const struct definitions *definitions, const struct statistics_room *room,
                    const char *target, struct pool_blocks **ret, struct error *err)
{
    struct pool_blocks *blocks;
    struct pairing_sink sink = {NULL,     on_allocated,   on_moved,
                                on_ended, on_explained,   on_chain_ended,
                                NULL,     on_live_at_end, NULL};
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
        code = lifetimes_new(target, &blocks->lifetimes, err);
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
    if (is_new && blocks->n_unknown_pools) /* unknown events may belong to it */
        return false;
    blocks->definitions = definitions;
    describe_pools(blocks, ids);
    return true;
}

void pool_blocks_free(struct pool_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0;
         blocks->taken && blocks->outer && blocks->inner && i <= blocks->room.n_processes; i++) {
        address_set_done(&blocks->outer[i]);
        address_set_done(&blocks->inner[i]);
        address_set_done(&blocks->taken[i]);
    }
    free(blocks->outer);
    free(blocks->inner);
    free(blocks->taken);
    free(blocks->accounts);
    free(blocks->processes);
    free(blocks->moving.list);
    free(blocks->moving_taken.list);
    pairing_free(blocks->pairing);
    lifetimes_free(blocks->lifetimes);
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

/* Frees the blocks in the range, of one pool or (0) of all. */
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

/* Index of the first match at or after `at`; movings->n: none. */
static size_t find_moving(const struct movings *movings, size_t at, uint32_t process, uint64_t id)
{
    while (at < movings->n
           && (movings->list[at].item.id != id || movings->list[at].process != process))
        at++;
    return at;
}

static struct address_item take_moving(struct movings *movings, size_t at)
{
    struct address_item item = movings->list[at].item;

    movings->list[at] = movings->list[--movings->n];
    return item;
}

static int put_moving(struct movings *movings, uint32_t process, const struct address_item *item,
                      struct error *err)
{
    struct moving *list =
        dynamic_array_reserve(movings->list, &movings->capacity, movings->n + 1, sizeof(*list));

    if (!list)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu open reallocs", movings->n);
    movings->list = list;
    list[movings->n++] = (struct moving){*item, process};
    return 0;
}

/* After a realloc: the pools that took the old block have taken the new one (PB-4). */
static int settle_taken(struct pool_blocks *blocks, uint32_t process,
                        const struct live_block *block, uint64_t old_id, struct error *err)
{
    struct movings *movings = &blocks->moving_taken;
    size_t at = 0;
    int code = 0;

    while (code == 0 && (at = find_moving(movings, at, process, old_id)) < movings->n) {
        struct address_item item = take_moving(movings, at);
        blocks->accounts[item.of].taken_bytes += block->size - item.size_bytes;
        item = item_of(block, item.of);
        code = address_set_put(&blocks->taken[process], &item, err);
    }
    return code;
}

/* A realloc that moved the block ended the pool blocks in the old one. */
static int settle_moving(struct pool_blocks *blocks, uint32_t process,
                         const struct live_block *block, const struct pairing_link *link,
                         bool *ret_stayed, struct error *err)
{
    size_t at = find_moving(&blocks->moving, 0, process, link->realloc_from_id);
    struct event event = {
        .time_ns = block->alloc_ns, .thread = block->thread, .backtrace = block->backtrace};
    struct address_item old;

    *ret_stayed = false;
    if (at == blocks->moving.n)
        return 0;
    old = take_moving(&blocks->moving, at);
    *ret_stayed = old.address == block->address;
    return *ret_stayed ? 0
                       : end_range(blocks, process, &event, 0, old.address,
                                   old.address + old.size_bytes, err);
}

int pool_blocks_outer_allocated(struct pool_blocks *blocks, uint32_t process,
                                const struct live_block *block, const struct pairing_link *link,
                                struct error *err)
{
    const struct address_item item = item_of(block, 0);
    struct event event = {
        .time_ns = block->alloc_ns, .thread = block->thread, .backtrace = block->backtrace};
    bool has_stayed = false;
    int code = link ? settle_moving(blocks, process, block, link, &has_stayed, err) : 0;

    if (code == 0 && !has_stayed)
        code = end_range(blocks, process, &event, 0, item.address, item.address + item.size_bytes,
                         err);
    if (code == 0 && link)
        code = settle_taken(blocks, process, block, link->realloc_from_id, err);
    return code ? code : address_set_put(&blocks->outer[process], &item, err);
}

/* The malloc block ended: no pool has it any more. During a realloc the entries are kept in
 * moving_taken. */
static int end_taken(struct pool_blocks *blocks, uint32_t process, uint64_t address, bool is_moving,
                     struct error *err)
{
    struct address_set *taken = &blocks->taken[process];
    const struct address_item *item;
    int code = 0;

    while (code == 0 && (item = address_set_first_at(taken, address)) != NULL
           && item->address == address) {
        struct address_item found = *item;
        if (is_moving)
            code = put_moving(&blocks->moving_taken, process, &found, err);
        address_set_remove(taken, address, found.of);
    }
    return code;
}

int pool_blocks_outer_ended(struct pool_blocks *blocks, uint32_t process,
                            const struct live_block *block, const struct pairing_end *end,
                            struct error *err)
{
    struct event event = {.time_ns = end->time_ns,
                          .thread = end->thread ? end->thread : block->thread,
                          .backtrace = end->backtrace,
                          .group = end->group};

    const struct address_item item = item_of(block, 0);
    bool is_moving = end->ended_by == PAIRING_REALLOCATED;
    int code = end_taken(blocks, process, block->address, is_moving, err);

    address_set_remove(&blocks->outer[process], block->address, 0);
    if (code || is_moving)
        return code ? code : put_moving(&blocks->moving, process, &item, err);
    return end_range(blocks, process, &event, 0, block->address, block->address + block->size, err);
}

void pool_blocks_set_exec(struct pool_blocks *blocks, uint32_t process, bool ended_in_exec)
{
    for (uint32_t pool = 1; pool <= blocks->n_pools; pool++)
        if (process_of(blocks, pool) == process)
            pairing_process_get(blocks->pairing, pool)->ended_in_exec = ended_in_exec;
}

/* ---- rows ---- */

/* Blocks lost in an exec do not count as held. */
static void count_held(struct pool_blocks *blocks, uint32_t process)
{
    const struct address_set *taken = &blocks->taken[process];
    const struct address_set *inner = &blocks->inner[process];
    const struct address_item *item;

    for (item = address_set_first_at(taken, 0); item; item = address_set_next(taken, item))
        if (!pairing_process_get(blocks->pairing, item->of)->ended_in_exec)
            blocks->accounts[item->of].held_bytes += item->size_bytes;
    for (item = address_set_first_at(inner, 0); item; item = address_set_next(inner, item))
        if (!pairing_process_get(blocks->pairing, item->of)->ended_in_exec
            && find_outer(blocks, process, item->address))
            blocks->accounts[item->of].inside_bytes += item->size_bytes;
}

int pool_blocks_finish(struct pool_blocks *blocks, struct error *err)
{
    int code;

    for (uint32_t process = 1; process <= blocks->room.n_processes; process++)
        count_held(blocks, process);

    for (uint32_t pool = 1; pool <= blocks->n_pools; pool++)
        account_at(blocks, pool, UINT64_MAX);
    code = pairing_finish(blocks->pairing, err);
    if (code || !blocks->lifetimes)
        return code;
    code = spill_file_flush(&blocks->places, err);
    return code ? code : lifetimes_rewind(blocks->lifetimes, err);
}

int pool_blocks_renumber(struct pool_blocks *blocks, const struct statistics_ids *ids,
                         struct error *err)
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

static void put_ids(const struct statistics_ids *ids, struct pool_row *row)
{
    struct allocation *block = &row->block;

    row->pool = ids->pools[row->pool];
    block->thread = ids->threads[block->thread];
    block->free_thread = ids->threads[block->free_thread];
    block->backtrace = ids->backtraces[block->backtrace];
    block->free_backtrace = ids->backtraces[block->free_backtrace];
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
    int more = lifetimes_next(blocks->lifetimes, &ret->block, &chain, err);

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

    return blocks->n_unknown_pools + counts->untracked_frees + counts->unknown_frees
           + counts->unknown_reallocs;
}

void pool_blocks_leave_rows_out(struct pool_blocks *blocks)
{
    lifetimes_free(blocks->lifetimes);
    blocks->lifetimes = NULL;
    spill_file_done(&blocks->places);
}
