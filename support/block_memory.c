/* SPDX-License-Identifier: MIT */
#include "support/block_memory.h"

#include <string.h>

enum {
    LIST_LIVE = 0,
    LIST_UNKNOWN = BLOCK_MEMORY_CLASSES + 1,
    CHUNK_HEADER_BYTES = 8, /* between the end of one glibc block and the start of the next */
};

static uint32_t class_list(uint64_t usable_bytes)
{
    if (usable_bytes == 0)
        return LIST_UNKNOWN;
    return 1 + (uint32_t)((usable_bytes >> 4) & (BLOCK_MEMORY_CLASSES - 1));
}

/* The slot that holds an address's record, or the empty one where it belongs. */
static uint32_t find_slot(const struct block_memory *memory, uint64_t address)
{
    uint32_t slot = (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 51);

    while (memory->slots[slot] && memory->records[memory->slots[slot]].address != address)
        slot = (slot + 1) & (BLOCK_MEMORY_SLOTS - 1);
    return slot;
}

static void unlink_record(struct block_memory *memory, uint32_t index)
{
    const struct block_record *record = &memory->records[index];

    if (record->newer)
        memory->records[record->newer].older = record->older;
    else
        memory->heads[record->list] = record->older;
    if (record->older)
        memory->records[record->older].newer = record->newer;
    if (record->list == LIST_LIVE) {
        memory->last_newer = record->newer;
        memory->last_older = record->older;
    }
}

static void push_record(struct block_memory *memory, uint32_t index, uint32_t list)
{
    struct block_record *record = &memory->records[index];

    record->list = (uint16_t)list;
    record->newer = 0;
    record->older = memory->heads[list];
    if (record->older)
        memory->records[record->older].newer = (uint16_t)index;
    memory->heads[list] = (uint16_t)index;
}

/* The address's record, outside all lists; made when there is none; 0 when there is no room. */
static uint32_t take_record(struct block_memory *memory, uint64_t address)
{
    uint32_t slot = find_slot(memory, address);
    uint32_t index = memory->slots[slot];

    if (index) {
        unlink_record(memory, index);
        return index;
    }
    if (memory->n_records == BLOCK_MEMORY_MAX)
        return 0;
    index = ++memory->n_records;
    memory->slots[slot] = (uint16_t)index;
    memory->records[index] = (struct block_record){.address = address};
    return index;
}

void block_memory_clear(struct block_memory *memory)
{
    memset(memory, 0, offsetof(struct block_memory, records));
}

uint32_t block_memory_find(const struct block_memory *memory, uint64_t address)
{
    return memory->slots[find_slot(memory, address)];
}

uint64_t block_memory_guess_new(const struct block_memory *memory, enum block_new guess,
                                uint64_t usable_bytes)
{
    uint32_t index;

    switch (guess) {
    case BLOCK_NEW_CARVED:
        return memory->carved_end;
    case BLOCK_NEW_UNKNOWN_FREED:
        index = memory->heads[LIST_UNKNOWN];
        break;
    case BLOCK_NEW_SECOND_FREED:
        index = memory->heads[class_list(usable_bytes)];
        index = memory->records[index].older;
        break;
    default:
        index = memory->heads[class_list(usable_bytes)];
        break;
    }
    return index ? memory->records[index].address : 0;
}

uint64_t block_memory_guess_old(const struct block_memory *memory, enum block_old guess)
{
    uint32_t index = memory->heads[LIST_LIVE];

    if (guess == BLOCK_OLD_NEWER)
        index = memory->last_newer;
    else if (guess == BLOCK_OLD_OLDER)
        index = memory->last_older;
    else if (guess == BLOCK_OLD_SECOND)
        index = memory->records[index].older;
    return index ? memory->records[index].address : 0;
}

void block_memory_allocated(struct block_memory *memory, uint64_t address, uint64_t usable_bytes)
{
    uint32_t n_known = memory->n_records;
    uint32_t index = take_record(memory, address);

    if (index == 0)
        return;
    if (memory->n_records != n_known)
        memory->carved_end = address + usable_bytes + CHUNK_HEADER_BYTES;
    memory->records[index].usable_bytes = usable_bytes;
    push_record(memory, index, LIST_LIVE);
}

void block_memory_freed(struct block_memory *memory, uint64_t address)
{
    uint32_t index = take_record(memory, address);

    if (index)
        push_record(memory, index, class_list(memory->records[index].usable_bytes));
}
