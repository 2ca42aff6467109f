/* SPDX-License-Identifier: MIT */
/*
 * mapping_list: the live mappings of a process in order of address.
 *
 * Model:   chunks of up to MAPPING_LIST_CHUNK pieces, found by the end of their last one. What is
 *          put in or taken out moves the rest of one chunk, however many pieces there are.
 * Invariants
 *   ML-1 Pieces do not overlap; no chunk is empty.
 *   ML-2 Memory: 152 bytes a place; chunks are made of halves, and places of ended pieces are kept
 *        while one of their chunk lives.
 * Threads: none.
 * Failure: memory, in mapping_list_insert only.
 */
#ifndef MTRACE_IMPORTER_MAPPING_LIST_H
#define MTRACE_IMPORTER_MAPPING_LIST_H

#include "importer/log/checkpoint_io.h"
#include "importer/totals/stable_numbers.h"
#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

#define MAPPINGS_NEVER UINT64_MAX

/* A row of mmaps. */
struct mapping {
    uint64_t mmap_id;
    uint64_t call_id;
    uint64_t address, length;
    int64_t file_offset;
    const char *path; /* lives as long as the definitions; NULL: none */
    uint64_t mapped_ns;
    uint64_t unmapped_ns;               /* MAPPINGS_NEVER: lived to the end */
    uint64_t remapped_from_id;          /* 0: none */
    uint64_t peak_rss_bytes;            /* MAPPINGS_NEVER: not sampled */
    uint64_t sampled_ns, sampled_bytes; /* the latest sample; private */
    uint32_t process;
    uint32_t thread, node;
    uint32_t unmap_thread, unmap_node; /* 0: none */
    int32_t prot, flags, fd;
};

enum {
    MAPPING_LIST_CHUNK = 128
};

/* All zero is an empty list. */
struct mapping_list {
    struct mapping_chunk **chunks;
    size_t n_chunks, max_chunks;
};

/* Where a piece is; valid until the list changes. chunk == n_chunks: behind the last. */
struct mapping_place {
    size_t chunk, index;
};

void mapping_list_done(struct mapping_list *list);

static inline uint64_t mapping_end(const struct mapping *piece)
{
    return piece->address + piece->length;
}

/* The first piece that ends above the address. */
struct mapping_place mapping_list_above(const struct mapping_list *list, uint64_t address);

/* NULL behind the last. */
struct mapping *mapping_list_at(const struct mapping_list *list, struct mapping_place place);

/* The place behind that of a piece. */
struct mapping_place mapping_list_next(const struct mapping_list *list, struct mapping_place place);

/* Puts a copy of the piece where its address belongs; it overlaps none. */
int mapping_list_insert(struct mapping_list *list, const struct mapping *piece, struct error *err);

/* There is a piece. */
void mapping_list_remove(struct mapping_list *list, struct mapping_place place);

/* Into the bytes or from them (checkpoint_io.h); the list is empty then. */
void mapping_visit(struct mapping *piece, const struct statistics_room *room,
                   struct checkpoint_io *io);
void mapping_list_visit(struct mapping_list *list, const struct statistics_room *room,
                        struct checkpoint_io *io);

#endif
