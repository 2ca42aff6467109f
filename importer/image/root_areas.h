/* SPDX-License-Identifier: MIT */
/*
 * root_areas: the memory outside of blocks whose words are roots: data of modules, stacks of living
 * threads, thread-local storage, and mappings that no allocator made.
 *
 * These words are no roots, because allocators and ended threads leave addresses of blocks there:
 * heaps outside of live blocks, mappings that an allocator made, stacks of ended threads, the part
 * of a stack below the stack pointer (minus the red zone), and mtrace's own memory. If the
 * recording began late, heaps are roots: a block that it has not may hold others.
 *
 * Threads: one. Errors: memory, database.
 */
#ifndef MTRACE_IMPORTER_ROOT_AREAS_H
#define MTRACE_IMPORTER_ROOT_AREAS_H

#include "importer/image/block_index.h"
#include "importer/image/image_file.h"

/* In the order in which they are blamed: a global variable that holds a block explains more than a
 * word on a stack, which may be stale. */
enum root_kind {
    ROOT_GLOBAL,
    ROOT_TLS,
    ROOT_MAPPING,
    ROOT_STACK,
    ROOT_REGISTER,
    ROOT_HEAP, /* of an incomplete recording: blocks that it has not, or freed ones */
    ROOT_KINDS,
};

extern const char *const root_kind_names[ROOT_KINDS];

struct root_area {
    uint64_t start, end;
    enum root_kind kind;
    uint32_t thread;    /* index in the image's threads: of STACK and TLS */
    uint32_t range;     /* index in the image's ranges: of the module's file for GLOBAL */
    bool is_allocators; /* data of libc: words of its allocator are no roots */
};

struct root_areas {
    struct root_area *areas; /* in the order of addresses; they do not overlap */
    size_t n_areas;
    size_t capacity; /* private */
};

/* is_partial: not all blocks are known. Free with root_areas_done, also after a failure. */
int root_areas_make(sqlite3 *db, int64_t process_id, int64_t at_ns, bool is_partial,
                    const struct image_file *image, const struct block_index *index,
                    struct root_areas *areas, struct error *err);

void root_areas_done(struct root_areas *areas);

#endif
