/* SPDX-License-Identifier: MIT */
/*
 * block_memory: which addresses a segment's events spoke of, so that the packed form can name an
 * address by its place instead of its bits.
 *
 * Model:   a record per address mentioned. A live record is in one list, newest first; a freed one
 *          in the list of its size class, last freed first, as glibc's thread cache keeps blocks.
 *          The packer and the unpacker make the same calls in the same order and so see the same
 *          lists; neither knows anything from before the segment.
 * Invariants
 *   BM-1 A record is in exactly one list. Index 0 is no record.
 *   BM-2 An address has at most one record.
 *   BM-3 No call allocates; BLOCK_MEMORY_MAX records suffice for any segment, and a call beyond
 *        that is ignored.
 * Threads: one per memory.
 */
#ifndef MTRACE_SUPPORT_BLOCK_MEMORY_H
#define MTRACE_SUPPORT_BLOCK_MEMORY_H

#include "common/log_format.h"

#include <stdint.h>

enum {
    BLOCK_MEMORY_MAX = LOG_SEGMENT_PAYLOAD_BYTES / 16, /* an address needs two words of events */
    BLOCK_MEMORY_SLOTS = 8192,                         /* at most half full */
    BLOCK_MEMORY_CLASSES = 1024,
};

/* Where an allocation's address is expected. */
enum block_new {
    BLOCK_NEW_LAST_FREED = 0,    /* the block of that size freed last */
    BLOCK_NEW_CARVED = 1,        /* right behind the block carved last */
    BLOCK_NEW_SECOND_FREED = 2,  /* the block of that size freed before the last */
    BLOCK_NEW_UNKNOWN_FREED = 3, /* the block of unknown size freed last */
    BLOCK_NEW_GUESSES = 4,
};

/* Where a freed address is expected. */
enum block_old {
    BLOCK_OLD_NEWEST = 0, /* the live block allocated last */
    BLOCK_OLD_NEWER = 1,  /* the next younger neighbour of the block freed before */
    BLOCK_OLD_OLDER = 2,  /* its next older neighbour */
    BLOCK_OLD_SECOND = 3, /* the live block allocated before the last */
    BLOCK_OLD_GUESSES = 4,
};

struct block_record {
    uint64_t address;
    uint64_t usable_bytes; /* 0: allocated before the segment, not known */
    uint16_t newer, older; /* neighbours in the record's list */
    uint16_t list;         /* 0: live; else 1 + class; BLOCK_MEMORY_CLASSES + 1: unknown size */
};

struct block_memory {
    uint16_t slots[BLOCK_MEMORY_SLOTS]; /* address -> record, open addressing */
    uint16_t heads[BLOCK_MEMORY_CLASSES + 2];
    uint16_t last_newer, last_older; /* neighbours of the live block freed last */
    uint32_t n_records;
    uint64_t carved_end; /* where the next block would begin if carved behind the last */
    struct block_record records[BLOCK_MEMORY_MAX + 1];
};

/* Forgets everything. */
void block_memory_clear(struct block_memory *memory);

/* Index of an address's record, 0 if never mentioned. */
uint32_t block_memory_find(const struct block_memory *memory, uint64_t address);

/* The address expected by guess for an allocation of so many usable bytes; 0 if none. */
uint64_t block_memory_guess_new(const struct block_memory *memory, enum block_new guess,
                                uint64_t usable_bytes);

/* The address expected by guess for a free; 0 if none. */
uint64_t block_memory_guess_old(const struct block_memory *memory, enum block_old guess);

/* Notes what an event did. is_fresh: the address was not found by a guess at freed blocks. */
void block_memory_allocated(struct block_memory *memory, uint64_t address, uint64_t usable_bytes);
void block_memory_freed(struct block_memory *memory, uint64_t address);

#endif
