/* SPDX-License-Identifier: MIT */
/*
 * block_memory: the addresses that a segment's events mention, so that the packed form can refer to
 * an address by its position.
 *
 * There is one record per address. A live record is in a list, newest first. A freed one is in the
 * list of its size class, last freed first, like blocks in glibc's thread cache. Packer and
 * unpacker make the same calls in the same order and so have the same lists; both start empty at
 * each segment. Lists are rings that begin and end at a head; heads are stored after the records in
 * one array.
 *
 * Invariants
 *   BM-1 A record is in exactly one ring. Between block_memory_get and the next call, which links
 *        it, it is alone in a ring of its own.
 *   BM-2 An address has at most one record.
 *   BM-3 No call allocates. BLOCK_MEMORY_MAX records suffice for any segment; beyond that, calls
 *        use record 0, which belongs to no address.
 *   BM-4 The address of a head is BLOCK_MEMORY_NOWHERE, which no event has. So comparing addresses
 *        needs no check for a head.
 *
 * One thread per memory. Inline, because it runs for every event.
 */
#ifndef MTRACE_LIB_BLOCK_MEMORY_H
#define MTRACE_LIB_BLOCK_MEMORY_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    BLOCK_MEMORY_MAX = LOG_SEGMENT_PAYLOAD_BYTES / 16, /* an address needs two words of events */
    BLOCK_MEMORY_SLOTS = 8192,                         /* at most half full */
    BLOCK_MEMORY_CLASSES = 256,
    BLOCK_MEMORY_HEADER_BYTES = 8, /* between the end of one glibc block and the next one's start */
};

static const uint64_t BLOCK_MEMORY_NOWHERE = ~0ull;

/* Where the address of an allocation is predicted. */
enum block_new {
    BLOCK_NEW_LAST_FREED = 0,    /* the block of that size freed last */
    BLOCK_NEW_CARVED = 1,        /* right after the block carved last */
    BLOCK_NEW_SECOND_FREED = 2,  /* the block of that size freed before the last */
    BLOCK_NEW_UNKNOWN_FREED = 3, /* the block of unknown size freed last */
    BLOCK_NEW_GUESSES = 4,
};

/* Where a freed address is predicted. */
enum block_old {
    BLOCK_OLD_NEWEST = 0, /* the live block allocated last */
    BLOCK_OLD_NEWER = 1,  /* the next younger neighbour of the block freed before */
    BLOCK_OLD_OLDER = 2,  /* its next older neighbour */
    BLOCK_OLD_SECOND = 3, /* the live block allocated before the last */
    BLOCK_OLD_GUESSES = 4,
};

/* Heads of lists, as indexes into the records. */
enum block_list {
    BLOCK_LIST_NONE = 0,
    BLOCK_LIST_LIVE = BLOCK_MEMORY_MAX + 1,
    BLOCK_LIST_UNKNOWN, /* freed, allocated before the segment */
    BLOCK_LIST_CLASSES, /* the first of them */
    BLOCK_LIST_END = BLOCK_LIST_CLASSES + BLOCK_MEMORY_CLASSES,
};

struct block_record {
    uint64_t address;
    uint16_t newer, older; /* neighbours; of a head: the oldest and the newest */
    uint16_t list;         /* its list */
    uint16_t freed_list;   /* its list after it is freed */
};

struct block_memory {
    uint16_t slots[BLOCK_MEMORY_SLOTS]; /* address -> record, open addressing */
    uint32_t last_newer, last_older;    /* neighbours of the live block freed last, or heads */
    uint32_t n_records;
    uint64_t carved_end; /* where the next block begins if carved after the last */
    struct block_record records[BLOCK_LIST_END];
};

/* Forgets everything. */
static inline void block_memory_clear(struct block_memory *memory)
{
    memset(memory->slots, 0, sizeof(memory->slots));
    memory->last_newer = memory->last_older = BLOCK_LIST_LIVE;
    memory->n_records = 0;
    memory->carved_end = BLOCK_MEMORY_NOWHERE;
    memory->records[0] = (struct block_record){.address = BLOCK_MEMORY_NOWHERE};
    for (uint32_t i = BLOCK_LIST_LIVE; i < BLOCK_LIST_END; i++)
        memory->records[i] = (struct block_record){
            .address = BLOCK_MEMORY_NOWHERE, .newer = (uint16_t)i, .older = (uint16_t)i};
}

/* False: the index is a head. */
static inline bool block_memory_is_record(uint32_t index)
{
    return index - 1 < BLOCK_MEMORY_MAX;
}

/* The record of the address, added if needed; sets *ret_is_new. */
static inline uint32_t block_memory_get(struct block_memory *memory, uint64_t address,
                                        bool *ret_is_new)
{
    uint32_t slot = (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 51);
    uint32_t index;

    *ret_is_new = false;
    while ((index = memory->slots[slot]) != 0) {
        if (memory->records[index].address == address)
            return index;
        slot = (slot + 1) & (BLOCK_MEMORY_SLOTS - 1);
    }
    if (memory->n_records == BLOCK_MEMORY_MAX)
        return 0;
    *ret_is_new = true;
    index = ++memory->n_records;
    memory->slots[slot] = (uint16_t)index;
    memory->records[index] = (struct block_record){.address = address,
                                                   .newer = (uint16_t)index,
                                                   .older = (uint16_t)index,
                                                   .freed_list = BLOCK_LIST_UNKNOWN};
    return index;
}

static inline uint32_t block_memory_class(uint64_t usable_bytes)
{
    return BLOCK_LIST_CLASSES + (uint32_t)((usable_bytes >> 4) & (BLOCK_MEMORY_CLASSES - 1));
}

/* The record predicted by a guess other than BLOCK_NEW_CARVED for so many usable bytes, or a
 * head. */
static inline uint32_t block_memory_guess_new(const struct block_memory *memory,
                                              enum block_new guess, uint64_t usable_bytes)
{
    uint32_t list =
        guess == BLOCK_NEW_UNKNOWN_FREED ? BLOCK_LIST_UNKNOWN : block_memory_class(usable_bytes);
    uint32_t index = memory->records[list].older;

    return guess == BLOCK_NEW_SECOND_FREED ? memory->records[index].older : index;
}

/* The record predicted by a guess for a free, or a head. */
static inline uint32_t block_memory_guess_old(const struct block_memory *memory,
                                              enum block_old guess)
{
    uint32_t newest = memory->records[BLOCK_LIST_LIVE].older;

    switch (guess) {
    case BLOCK_OLD_NEWER:
        return memory->last_newer;
    case BLOCK_OLD_OLDER:
        return memory->last_older;
    case BLOCK_OLD_SECOND:
        return memory->records[newest].older;
    default:
        return newest;
    }
}

static inline void block_memory_move(struct block_memory *memory, uint32_t index, uint32_t list)
{
    struct block_record *record = &memory->records[index];
    struct block_record *head = &memory->records[list];

    memory->records[record->newer].older = record->older;
    memory->records[record->older].newer = record->newer;
    record->newer = (uint16_t)list;
    record->older = head->older;
    memory->records[head->older].newer = (uint16_t)index;
    head->older = (uint16_t)index;
    record->list = (uint16_t)list;
}

/* Updates the lists after an event of the record's block. */
static inline void block_memory_allocated(struct block_memory *memory, uint32_t index,
                                          uint64_t usable_bytes)
{
    struct block_record *record = &memory->records[index];

    if (record->list == BLOCK_LIST_NONE)
        memory->carved_end = record->address + usable_bytes + BLOCK_MEMORY_HEADER_BYTES;
    record->freed_list = (uint16_t)block_memory_class(usable_bytes);
    block_memory_move(memory, index, BLOCK_LIST_LIVE);
}

static inline void block_memory_freed(struct block_memory *memory, uint32_t index)
{
    const struct block_record *record = &memory->records[index];

    if (record->list == BLOCK_LIST_LIVE) {
        memory->last_newer = record->newer;
        memory->last_older = record->older;
    }
    block_memory_move(memory, index, record->freed_list);
}

#endif
