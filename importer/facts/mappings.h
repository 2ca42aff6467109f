/* SPDX-License-Identifier: MIT */
/*
 * mappings: mmap, munmap and mremap of one process as pieces with one fate each.
 *
 * Model:   live pieces lie side by side in order of address. What is mapped or unmapped over part
 * of a piece splits it; the part that ends is told to a sink, the rest lives on as pieces of the
 * same call. mremap ends what it moves and begins a new call linked to it. Invariants MA-1 Live
 * pieces do not overlap; all bounds are whole pages. MA-2 The lengths of the pieces of a call sum
 * up to the length of the call, once all are told. MA-3 A mapping over an existing one (MAP_FIXED)
 * ends what it covers at that instant. MA-4 Ids are given when a piece or the rest of a split
 * begins, and used once. Threads: none. Failure: memory, or what the sink returned.
 */
#ifndef MTRACE_IMPORTER_MAPPINGS_H
#define MTRACE_IMPORTER_MAPPINGS_H

#include "importer/model/event.h"
#include "support/error.h"

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

typedef int mappings_ended_fn(void *context, const struct mapping *piece, struct error *err);

struct mappings {
    struct mapping *pieces; /* by address */
    size_t n_pieces, max_pieces;
    uint32_t process;
    uint64_t page_bytes;
    mappings_ended_fn *ended;
    void *context;
    uint64_t *next_id; /* shared by all processes: ids of pieces and calls */
};

void mappings_init(struct mappings *mappings, uint32_t process, uint64_t page_bytes,
                   uint64_t *next_id, mappings_ended_fn *ended, void *context);
void mappings_done(struct mappings *mappings);

/* Takes MMAP, MUNMAP and MREMAP; other kinds mean nothing to it. */
int mappings_event(struct mappings *mappings, const struct event *event, struct error *err);

/* The pages of [start, end) that are in memory had rss_bytes in all. Kernels join neighbours of a
 * kind and split what a program mapped at once, so that pieces and samples need not agree: a piece
 * gets the sum over the samples of an instant, each by the share of its length that lies inside. */
void mappings_sample(struct mappings *mappings, uint64_t time_ns, uint64_t start, uint64_t end,
                     uint64_t rss_bytes);

/* Tells what is still mapped. */
int mappings_finish(struct mappings *mappings, struct error *err);

#endif
