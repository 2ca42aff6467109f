/* SPDX-License-Identifier: MIT */
/*
 * mappings: mmap, munmap and mremap of one process as pieces, each with one lifetime.
 *
 * Live pieces are kept in order of address, in chunks: inserting or removing a piece moves only the
 * rest of its chunk. A mapping or unmapping of a part of a piece splits it:
 * the part that ends is emitted to a sink, the rest lives on as pieces of the same call. mremap
 * ends what it moves and begins a new call that links to it.
 *
 * Invariants
 *   MA-1 Live pieces do not overlap; all bounds are whole pages.
 *   MA-2 The lengths of the pieces of a call sum up to the length of the call, once all are
 *        emitted.
 *   MA-3 A mapping over an existing one (MAP_FIXED) ends what it covers at that time.
 *   MA-4 Ids are given when a piece or the rest of a split begins, and used once.
 *   MA-5 An event costs the pieces that it ends, and log n of the live ones. A RESIDENT event of a
 *        process costs up to MAPPINGS_MAX_LOOK pieces and splits at its bounds.
 *   ML-1 No chunk of the list is empty.
 *   ML-2 Memory: 160 bytes per slot. Full chunks are split in halves, and slots of removed pieces
 *        are kept while their chunk exists.
 *
 * Threads: one at a time.
 * Errors: memory, or those of the sink.
 */
#ifndef MTRACE_IMPORTER_MAPPINGS_H
#define MTRACE_IMPORTER_MAPPINGS_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/event.h"
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
    uint64_t peak_rss_ns;               /* of the latest sample with that many */
    uint64_t sampled_ns, sampled_bytes; /* the latest sample; private */
    uint32_t process;
    uint32_t thread, backtrace;
    uint32_t unmap_thread, unmap_backtrace; /* 0: none */
    int32_t prot, flags, fd;
};

/*
 * The live pieces in order of address: chunks of up to MAPPING_LIST_CHUNK pieces, found by the end
 * of their last piece. Zero-initialized: an empty list.
 */
struct mapping_list {
    struct mapping_chunk **chunks;
    size_t n_chunks, max_chunks;
};

/* Saves or loads a piece (checkpoint_io.h). */
void mapping_visit(struct mapping *piece, struct checkpoint_io *io);

enum {
    MAPPINGS_MAX_LOOK = 1024 /* pieces among which one RESIDENT event is divided */
};

typedef int mappings_ended_fn(void *context, const struct mapping *piece, struct error *err);

struct mappings {
    struct mapping_list live;
    uint32_t process;
    uint64_t page_bytes;
    mappings_ended_fn *ended;
    void *context;
    uint64_t looked_ns; /* time of a RESIDENT scan that spans several events */
    uint32_t looking_thread;
    uint64_t n_unknown; /* incomplete RESIDENT scans */
    uint64_t *next_id;  /* shared by all processes: ids of pieces and calls */
};

void mappings_init(struct mappings *mappings, uint32_t process, uint64_t page_bytes,
                   uint64_t *next_id, mappings_ended_fn *ended, void *context);
void mappings_done(struct mappings *mappings);

/* Handles MMAP, MUNMAP, MREMAP and RESIDENT; ignores other kinds. */
int mappings_event(struct mappings *mappings, const struct event *event, struct error *err);

/* A sample of the recorder: the pages of [start, end) had rss_bytes in memory. The kernel merges
 * and splits mappings, so samples and pieces may not agree: a piece gets, for each time, the sum
 * over the samples by the share of their length that lies inside it. */
void mappings_sample(struct mappings *mappings, uint64_t time_ns, uint64_t start, uint64_t end,
                     uint64_t rss_bytes);

/* The live piece at the address; NULL: none. *ret_until: its end, or the start of the next piece
 * (UINT64_MAX: none). Valid until the next event. */
const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address,
                                    uint64_t *ret_until);

/* Emits what is still mapped. */
int mappings_finish(struct mappings *mappings, struct error *err);

/* Saves the mappings, or loads them into one without pieces (checkpoint_io.h). */
void mappings_visit(struct mappings *mappings, struct checkpoint_io *io);

#endif
