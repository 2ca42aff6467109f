/* SPDX-License-Identifier: MIT */
/*
 * block_index: the live blocks of a process at one time, and which of them contains an address.
 *
 * Threads: any for block_index_find; else one. Errors: memory, database.
 */
#ifndef MTRACE_IMPORTER_BLOCK_INDEX_H
#define MTRACE_IMPORTER_BLOCK_INDEX_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_BLOCK UINT32_MAX

struct live_block_row {
    uint64_t address, size_bytes; /* as requested */
    int64_t allocation_id;
    uint32_t slack_bytes : 31;
    uint32_t is_of_new : 1; /* allocated by an operator new */
    uint32_t call_site_id;  /* 0: none */
};

struct block_index {
    struct live_block_row *blocks; /* in the order of addresses; they do not overlap */
    uint32_t n_blocks;
    /* private */
    size_t capacity;
    uint32_t *pages;        /* first block that ends behind the page's start, by page of a chunk */
    uint64_t *chunks;       /* hash table: number of the chunk plus one; 0: free */
    uint32_t *chunk_pages;  /* index in `pages` */
    uint32_t n_chunk_slots; /* a power of two */
};

/* Reads the blocks that are live at at_ns. Free with block_index_done, also after a failure. */
int block_index_read(sqlite3 *db, int64_t process_id, int64_t at_ns, struct block_index *index,
                     struct error *err);

/* Sorts `blocks` and makes the index; block_index_read calls it. */
int block_index_make(struct block_index *index, struct error *err);

void block_index_done(struct block_index *index);

/* The block with a requested byte at the address, or that begins there; NO_BLOCK: none. */
uint32_t block_index_find(const struct block_index *index, uint64_t address);

/* Loads the lines that block_index_find will read. */
void block_index_prefetch(const struct block_index *index, uint64_t address);

#endif
