/* SPDX-License-Identifier: MIT */
/*
 * lifetimes: joins allocations (in order of id) and frees (in order of time) into whole allocations
 * in order of id, using little memory.
 *
 * Pass 1 appends allocations to one unnamed file and frees to buckets in another. A bucket takes
 * the frees of LIFETIMES_BUCKET_IDS successive ids, and is a list of chunks in that file. Pass 2
 * loads one bucket after the other and reads its allocations along with it.
 *
 * Invariants
 *   FA-1 Allocations come with ids 1, 2, 3, …; a free comes after its allocation.
 *   FA-2 Disk: about 12 bytes per allocation and 10 per free, as varints. A block that never
 *        changes its group costs nothing for groups.
 *   FA-3 Memory: 4 KiB per bucket while writing. While reading, one bucket of 48 bytes per id, 56
 *        if blocks change their group.
 *   FA-4 PAIRING_FREED replaces PAIRING_MISSED_FREE of the same id, whichever comes first.
 *
 * Threads: one at a time; first all writes, then all reads.
 * Errors: memory and I/O.
 */
#ifndef MTRACE_IMPORTER_LIFETIMES_H
#define MTRACE_IMPORTER_LIFETIMES_H

#include "importer/pairing/pairing.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LIFETIMES_BUCKET_IDS = 1 << 18
};

/* One allocation with its end. */
struct allocation {
    uint64_t allocation_id;
    uint64_t alloc_ns;
    uint64_t lifetime_ns; /* PAIRING_UNKNOWN: never freed */
    uint64_t address;
    uint64_t size_bytes;
    uint64_t slack_bytes;     /* LIVE_BLOCK_SLACK_UNKNOWN */
    uint64_t intervening;     /* PAIRING_UNKNOWN */
    uint64_t chain_id;        /* 0: no chain */
    uint64_t chain_position;  /* 1 = first */
    uint64_t realloc_from_id; /* 0: none */
    uint32_t backtrace;
    uint32_t free_backtrace; /* 0: none */
    uint32_t thread;
    uint32_t free_thread; /* 0: none or unknown */
    uint32_t group;       /* last group of the block, a number of definitions */
    uint32_t free_group;  /* group of the thread that freed it */
    uint32_t heap;        /* 0; for heap_ranges */
    uint8_t call;         /* enum log_call | LOG_CHUNK_* */
    uint8_t alignment_log2;
    uint8_t ended_by; /* enum pairing_ended_by */
    bool is_above;    /* sample_weight_is_above */
};

struct lifetimes;

/* The temporary files are created in the folder of `beside`. */
int lifetimes_new(const char *beside, struct lifetimes **ret, struct error *err);

/* NULL is fine. */
void lifetimes_free(struct lifetimes *lifetimes);

/* is_above: sample_weight_is_above, or false if the block is no sample. */
int lifetimes_allocated(struct lifetimes *lifetimes, const struct live_block *block, uint32_t group,
                        bool is_above, const struct pairing_link *link, struct error *err);
int lifetimes_moved(struct lifetimes *lifetimes, const struct live_block *block, uint32_t group,
                    struct error *err);
int lifetimes_ended(struct lifetimes *lifetimes, const struct live_block *block,
                    const struct pairing_end *end, struct error *err);
int lifetimes_chain_ended(struct lifetimes *lifetimes, const struct pairing_chain *chain,
                          struct error *err);

/* Ends the writing; lifetimes_next then begins with id 1. */
int lifetimes_rewind(struct lifetimes *lifetimes, struct error *err);

/* Returns 1 and the next allocation, 0 at the end, negative on failure. *ret_chain is set if the
 * allocation is the first of a chain of two or more, and valid until the next call; else it is
 * NULL. */
int lifetimes_next(struct lifetimes *lifetimes, struct allocation *ret,
                   const struct pairing_chain **ret_chain, struct error *err);

/* Bytes in temporary files so far. */
uint64_t lifetimes_disk_bytes(const struct lifetimes *lifetimes);

#endif
