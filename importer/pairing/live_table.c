/* SPDX-License-Identifier: MIT */
#include "importer/pairing/live_table.h"

#include "importer/model/event.h"
#include "lib/abi/attr.h"
#include "lib/abi/invariant.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SLOT_EMPTY = 0,
    SLOT_REMOVED = 1,
    SLOT_FIRST = 2,
    MIN_SLOTS = 64,
    MAX_TENTHS = 6,       /* of the slots, incl. removed: 3.5 probes per miss; with 7, 6.5 */
    MAX_BLOCKS = 1 << 29, /* leaves at least one tag bit in a slot */
    LINE_BYTES = 64,
    PIECE_BYTES = LIVE_TABLE_PIECE_BLOCKS * sizeof(struct live_block),
    FEW_PIECES = 1 << 12, /* allocated singly; later ones share slabs */
    HUGE_PAGE_BYTES = 1 << 21,
    SLAB_PIECES = 2048,
    SLAB_BYTES = SLAB_PIECES * PIECE_BYTES,
    SLOTS_PER_LINE = LINE_BYTES / sizeof(uint32_t),
};

_Static_assert(SLAB_BYTES % HUGE_PAGE_BYTES == 0, "a slab is whole huge pages");

static uint64_t hash_of(uint64_t address)
{
    uint64_t mixed = address * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 29;
}

static struct live_block *block_at(const struct live_table *table, uint32_t number)
{
    return &table->pieces[number / LIVE_TABLE_PIECE_BLOCKS][number % LIVE_TABLE_PIECE_BLOCKS];
}

/* The tag uses the bits of a slot that the number leaves free. The home slot comes from the upper
 * end of the hash, the tag from the lower half. A product is mixed best at the upper end, so
 * consecutive addresses do not crowd there. */
static uint32_t tag_of(const struct live_table *table, uint64_t hash)
{
    return (uint32_t)hash & ~table->number_mask;
}

static size_t home_of(const struct live_table *table, uint64_t hash)
{
    return (size_t)(hash >> table->home_shift);
}

static uint32_t number_in(const struct live_table *table, uint32_t slot)
{
    return (slot & table->number_mask) - SLOT_FIRST;
}

static bool slot_is_used(const struct live_table *table, uint32_t slot)
{
    return (slot & table->number_mask) >= SLOT_FIRST;
}

/* The slot must be used. */
static bool has_tag(const struct live_table *table, uint32_t slot, uint32_t tag)
{
    return (slot ^ tag) <= table->number_mask;
}

void live_table_init(struct live_table *table)
{
    memset(table, 0, sizeof *table);
    table->number_mask = (1 << 6) - 1;
}

void live_table_done(struct live_table *table)
{
    for (size_t i = 0; i < table->n_pieces && i < FEW_PIECES; i++)
        free(table->pieces[i]);
    for (size_t i = FEW_PIECES; i < table->n_pieces; i += SLAB_PIECES)
        munmap(table->pieces[i], SLAB_BYTES);
    free(table->pieces);
    free(table->slots);
    free(table->groups);
    live_table_init(table);
}

/* Finds the block of the address. *ret_slot: its slot, or a vacant one for it. The table must have
 * slots. */
static struct live_block *seek(const struct live_table *table, uint64_t address, uint64_t hash,
                               size_t *ret_slot)
{
    uint32_t tag = tag_of(table, hash);
    size_t mask = table->n_slots - 1;
    size_t vacant = SIZE_MAX;

    for (size_t i = home_of(table, hash);; i = (i + 1) & mask) {
        uint32_t slot = table->slots[i];
        if (slot <= SLOT_REMOVED) {
            vacant = vacant == SIZE_MAX ? i : vacant;
            if (slot == SLOT_REMOVED)
                continue;
            *ret_slot = vacant;
            return NULL;
        }
        if (!has_tag(table, slot, tag))
            continue;
        struct live_block *block = block_at(table, number_in(table, slot));
        if (block->address == address) {
            *ret_slot = i;
            return block;
        }
    }
}

struct live_block *live_table_find(struct live_table *table, uint64_t address)
{
    if (table->n_blocks == 0 || address == 0)
        return NULL;
    table->sought = address;
    return seek(table, address, hash_of(address), &table->sought_slot);
}

/* ---- prefetching ---- */

void live_table_prefetch(const struct live_table *table, uint64_t address)
{
    if (table->n_slots)
        __builtin_prefetch(&table->slots[home_of(table, hash_of(address))], 1);
}

const struct live_block *live_table_guess(const struct live_table *table, uint64_t address)
{
    if (table->n_slots == 0)
        return NULL;
    uint64_t hash = hash_of(address);
    uint32_t tag = tag_of(table, hash);
    size_t mask = table->n_slots - 1;
    size_t i = home_of(table, hash);

    do { /* only in the prefetched cache line */
        uint32_t slot = table->slots[i];
        if (slot == SLOT_EMPTY)
            return NULL;
        if (slot != SLOT_REMOVED && has_tag(table, slot, tag))
            return block_at(table, number_in(table, slot));
        i = (i + 1) & mask;
    } while (i % SLOTS_PER_LINE != 0);
    return NULL;
}

/* The first vacant slot in the probe sequence of the hash. */
static size_t vacant_slot(const struct live_table *table, uint64_t hash)
{
    size_t i = home_of(table, hash);

    while (slot_is_used(table, table->slots[i]))
        i = (i + 1) & (table->n_slots - 1);
    return i;
}

static void enter(struct live_table *table, uint32_t number, uint64_t address)
{
    uint64_t hash = hash_of(address);
    size_t i = table->sought == address ? table->sought_slot : vacant_slot(table, hash);

    table->sought = address; /* the next lookup may be for it */
    table->sought_slot = i;
    table->n_removed -= table->slots[i] == SLOT_REMOVED;
    table->slots[i] = tag_of(table, hash) + number + SLOT_FIRST;
}

/* A free place has address 0, which no block has. */
static void reenter_all(struct live_table *table)
{
    for (uint32_t number = 0; number < table->n_numbers; number++) {
        uint64_t address = block_at(table, number)->address;
        if (address)
            enter(table, number, address);
    }
}

/* Reserves a slot for one more block: doubles the slots, or only drops removed ones. */
static int grow_slots(struct live_table *table, struct error *err)
{
    size_t n_slots = table->n_slots ? table->n_slots : MIN_SLOTS;

    while ((table->n_blocks + 1) * 2 > n_slots)
        n_slots *= 2;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu live blocks", table->n_blocks);
    free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    table->home_shift = 64 - (unsigned)__builtin_ctzll(n_slots);
    table->n_removed = 0;
    table->sought = 0;
    while (n_slots / 10 * MAX_TENTHS + SLOT_FIRST + 1 > table->number_mask)
        table->number_mask = table->number_mask << 1 | 1;
    reenter_all(table);
    return 0;
}

/* Zeroed memory, in huge pages if possible: with small pages many blocks cost a page walk each, and
 * a fork copies more page tables. */
static void *new_slab(void)
{
    char *start = mmap(NULL, SLAB_BYTES + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start % HUGE_PAGE_BYTES;
    if (before)
        munmap(start, before);
    munmap(start + before + SLAB_BYTES, HUGE_PAGE_BYTES - before);
    (void)madvise(start + before, SLAB_BYTES, MADV_HUGEPAGE);
    return start + before;
}

/* Allocates the piece of this index; NULL: no memory. */
static struct live_block *new_piece(const struct live_table *table, size_t index)
{
    if (index < FEW_PIECES)
        return calloc(1, PIECE_BYTES);
    if ((index - FEW_PIECES) % SLAB_PIECES == 0)
        return new_slab();
    return table->pieces[index - 1] + LIVE_TABLE_PIECE_BLOCKS;
}

static int add_piece(struct live_table *table, struct error *err)
{
    struct live_block **pieces = dynamic_array_reserve(table->pieces, &table->max_pieces,
                                                       table->n_pieces + 1, sizeof *pieces);

    if (!pieces)
        return error_set(err, ERROR_NOMEM, "out of memory for live blocks");
    table->pieces = pieces;
    struct live_block *piece = new_piece(table, table->n_pieces);
    if (!piece)
        return error_set(err, ERROR_NOMEM, "out of memory for live blocks");
    table->pieces[table->n_pieces++] = piece;
    return 0;
}

static int take_number(struct live_table *table, uint32_t *ret_number, struct error *err)
{
    if (table->first_free) {
        *ret_number = table->first_free - 1;
        table->first_free = table->second_free;
        if (table->second_free) /* prefetched one allocation before this read, two before its use */
            table->second_free = block_at(table, table->second_free - 1)->backtrace;
        if (table->second_free)
            __builtin_prefetch(block_at(table, table->second_free - 1), 1);
        return 0;
    }
    if (table->n_numbers == MAX_BLOCKS)
        return error_set(err, ERROR_NOMEM, "more than %d live blocks at the same time", MAX_BLOCKS);
    if (table->n_numbers == table->n_pieces * LIVE_TABLE_PIECE_BLOCKS) {
        int code = add_piece(table, err);
        if (code)
            return code;
    }
    *ret_number = table->n_numbers++;
    return 0;
}

int live_table_add(struct live_table *table, uint64_t address, struct live_block **ret_block,
                   struct error *err)
{
    if ((table->n_blocks + table->n_removed + 1) * 10 > table->n_slots * MAX_TENTHS) {
        int code = grow_slots(table, err);
        if (code)
            return code;
    }
    uint32_t number = 0;
    int code = take_number(table, &number, err);
    if (code)
        return code;
    struct live_block *block = block_at(table, number);
    *block = (struct live_block){.address = address & ((UINT64_C(1) << 48) - 1)};
    enter(table, number, block->address);
    table->n_blocks++;
    *ret_block = block;
    return 0;
}

/* Takes a free place, if there is one without adding a piece. */
/* The slot of `block`, which must be in the table. */
static size_t slot_of(const struct live_table *table, const struct live_block *block)
{
    size_t i = home_of(table, hash_of(block->address));

    for (;; i = (i + 1) & (table->n_slots - 1)) {
        uint32_t slot = table->slots[i];
        if (slot_is_used(table, slot) && block_at(table, number_in(table, slot)) == block)
            return i;
    }
}

void live_table_remove(struct live_table *table, const struct live_block *removed)
{
    size_t i = table->sought == removed->address ? table->sought_slot : slot_of(table, removed);
    size_t mask = table->n_slots - 1;
    uint32_t number = number_in(table, table->slots[i]);
    struct live_block *block = block_at(table, number);

    MTRACE_ASSERT(block == removed);
    table->sought = 0;
    table->slots[i] = SLOT_REMOVED;
    table->n_removed++;
    /* Probe sequences stop at an empty slot, so removed slots before it can be empty, too. */
    if (table->slots[(i + 1) & mask] == SLOT_EMPTY) {
        for (; table->slots[i] == SLOT_REMOVED; i = (i - 1) & mask) {
            table->slots[i] = SLOT_EMPTY;
            table->n_removed--;
        }
    }
    block->address = 0;
    if (table->first_free)
        block_at(table, table->first_free - 1)->backtrace = table->second_free;
    table->second_free = table->first_free;
    table->first_free = number + 1;
    table->n_blocks--;
}

static uint32_t number_of(const struct live_table *table, const struct live_block *block)
{
    size_t i = table->sought == block->address ? table->sought_slot : slot_of(table, block);

    return number_in(table, table->slots[i]);
}

uint32_t live_table_group_slow(const struct live_table *table, const struct live_block *block)
{
    uint32_t number = number_of(table, block);

    return number < table->max_groups ? table->groups[number] : 0;
}

int live_table_set_group_slow(struct live_table *table, const struct live_block *block,
                              uint32_t group, struct error *err)
{
    uint32_t number = number_of(table, block);

    if (group && number >= table->max_groups) {
        uint32_t *groups = dynamic_array_reserve(table->groups, &table->max_groups,
                                                 (size_t)number + 1, sizeof *groups);
        if (!groups)
            return error_set(err, ERROR_NOMEM, "out of memory for groups of live blocks");
        table->groups = groups;
    }
    if (number < table->max_groups)
        table->groups[number] = group;
    return 0;
}

struct live_block *live_table_next(const struct live_table *table, uint32_t *cursor)
{
    while (*cursor < table->n_numbers) {
        struct live_block *block = block_at(table, (*cursor)++);
        if (block->address)
            return block;
    }
    return NULL;
}

const struct live_block *live_table_piece(const struct live_table *table, size_t index,
                                          size_t *ret_n)
{
    uint32_t first = (uint32_t)index * LIVE_TABLE_PIECE_BLOCKS;

    if (index >= table->n_pieces || first >= table->n_numbers)
        return NULL;
    *ret_n = table->n_numbers - first < LIVE_TABLE_PIECE_BLOCKS ? table->n_numbers - first
                                                                : LIVE_TABLE_PIECE_BLOCKS;
    return table->pieces[index];
}

void live_table_check(struct live_table *table)
{
    size_t n_blocks = 0;
    size_t n_removed = 0;
    uint32_t cursor = 0;
    const struct live_block *block;

    while ((block = live_table_next(table, &cursor)) != NULL) {
        MTRACE_CHECK(live_table_find(table, block->address) == block);
        n_blocks++;
    }
    for (size_t i = 0; i < table->n_slots; i++)
        n_removed += table->slots[i] == SLOT_REMOVED;
    MTRACE_CHECK(n_blocks == table->n_blocks);
    MTRACE_CHECK(n_removed == table->n_removed);
    (void)n_blocks;
    (void)n_removed;
}

/* ---- checkpoint ---- */

static void save_blocks(struct live_table *table, struct checkpoint_io *io)
{
    uint32_t cursor = 0;
    struct live_block *block;
    bool has_groups = table->groups != NULL;

    checkpoint_io_bool(io, &has_groups);
    while ((block = live_table_next(table, &cursor)) != NULL) {
        uint32_t group = live_table_group(table, block);
        checkpoint_io_bytes(io, block, sizeof *block);
        if (has_groups)
            checkpoint_io_u32(io, &group);
    }
}

static int put_block(struct live_table *table, const struct live_block *copy, uint32_t group,
                     struct error *err)
{
    struct live_block *block;

    if (live_table_find(table, copy->address))
        return 0;
    int code = live_table_add(table, copy->address, &block, err);
    if (code)
        return code;
    *block = *copy;
    return live_table_set_group(table, block, group, err);
}

static void load_blocks(struct live_table *table, size_t n, struct checkpoint_io *io)
{
    bool has_groups = false;

    checkpoint_io_bool(io, &has_groups);
    for (size_t i = 0; i < n && checkpoint_io_code(io) == 0; i++) {
        struct live_block block;
        uint32_t group = 0;
        checkpoint_io_bytes(io, &block, sizeof block);
        if (has_groups)
            checkpoint_io_u32(io, &group);
        if (checkpoint_io_code(io) == 0 && put_block(table, &block, group, NULL) != 0)
            checkpoint_io_no_memory(io);
    }
}

void live_table_visit(struct live_table *table, struct checkpoint_io *io)
{
    size_t n = table->n_blocks;

    checkpoint_io_count(io, &n, MAX_BLOCKS);
    if (checkpoint_io_is_loading(io))
        load_blocks(table, n, io);
    else
        save_blocks(table, io);
}
