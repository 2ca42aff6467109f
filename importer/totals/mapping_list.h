/* SPDX-License-Identifier: MIT */
/*
 * mapping_list: the live mappings of a process in order of address.
 *
 * The list consists of chunks of up to MAPPING_LIST_CHUNK pieces, found by the end of their last
 * piece. Inserting or removing a piece moves only the rest of its chunk.
 *
 * Invariants
 *   ML-1 Pieces do not overlap; no chunk is empty.
 *   ML-2 Memory: 152 bytes per slot. Full chunks are split in halves, and slots of removed pieces
 *        are kept while their chunk exists.
 *
 * Threads: one at a time.
 * Errors: memory, in mapping_list_insert only.
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
    uint64_t unmapped_ns;               /* MAPPINGS_NEVER: never unmapped */
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

/* Zero-initialized: an empty list. */
struct mapping_list {
    struct mapping_chunk **chunks;
    size_t n_chunks, max_chunks;
};

/* Position of a piece; valid until the list changes. chunk == n_chunks: after the last piece. */
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

/* NULL after the last piece. */
struct mapping *mapping_list_at(const struct mapping_list *list, struct mapping_place place);

/* The position after that of a piece. */
struct mapping_place mapping_list_next(const struct mapping_list *list, struct mapping_place place);

/* Inserts a copy of the piece at its address; it must not overlap another one. */
int mapping_list_insert(struct mapping_list *list, const struct mapping *piece, struct error *err);

/* The position must hold a piece. */
void mapping_list_remove(struct mapping_list *list, struct mapping_place place);

/* Save or load (checkpoint_io.h). The list to load into is empty. */
void mapping_visit(struct mapping *piece, const struct statistics_room *room,
                   struct checkpoint_io *io);
void mapping_list_visit(struct mapping_list *list, const struct statistics_room *room,
                        struct checkpoint_io *io);

#endif
