/* SPDX-License-Identifier: MIT */
/*
 * mappings: mmap, munmap and mremap of one process as pieces with one fate each.
 *
 * Model:   live pieces lie side by side in order of address. What is mapped or unmapped over part
 *          of a piece splits it; the part that ends is told to a sink, the rest lives on as pieces
 *          of the same call. mremap ends what it moves and begins a new call linked to it.
 * Invariants
 *   MA-1 Live pieces do not overlap; all bounds are whole pages.
 *   MA-2 The lengths of the pieces of a call sum up to the length of the call, once all are told.
 *   MA-3 A mapping over an existing one (MAP_FIXED) ends what it covers at that instant.
 *   MA-4 Ids are given when a piece or the rest of a split begins, and used once.
 *   MA-5 An event costs the pieces that it ends, and log n of those that live. A look, as a process
 *        takes it, costs up to MAPPINGS_MAX_LOOK pieces, and splits where it begins and ends.
 * Threads: none.
 * Failure: memory, or what the sink returned.
 */
#ifndef MTRACE_IMPORTER_MAPPINGS_H
#define MTRACE_IMPORTER_MAPPINGS_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/event.h"
#include "importer/totals/mapping_list.h"
#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    MAPPINGS_MAX_LOOK = 1024 /* pieces of one call that a look is divided among */
};

typedef int mappings_ended_fn(void *context, const struct mapping *piece, struct error *err);

struct mappings {
    struct mapping_list live;
    uint64_t anonymous_bytes; /* of those that have no file and may be touched */
    uint32_t process;
    uint64_t page_bytes;
    mappings_ended_fn *ended;
    void *context;
    uint64_t looked_ns; /* when a thread looked that tells of it in more than one event */
    uint32_t looking_thread;
    uint64_t n_unknown; /* looks that came to no end */
    uint64_t *next_id;  /* shared by all processes: ids of pieces and calls */
};

void mappings_init(struct mappings *mappings, uint32_t process, uint64_t page_bytes,
                   uint64_t *next_id, mappings_ended_fn *ended, void *context);
void mappings_done(struct mappings *mappings);

/* Takes MMAP, MUNMAP, MREMAP and RESIDENT; other kinds mean nothing to it. */
int mappings_event(struct mappings *mappings, const struct event *event, struct error *err);

/* The pages of [start, end) that are in memory had rss_bytes in all. Kernels join neighbours of a
 * kind and split what a program mapped at once, so that pieces and samples need not agree: a piece
 * gets the sum over the samples of an instant, each by the share of its length that lies inside. */
void mappings_sample(struct mappings *mappings, uint64_t time_ns, uint64_t start, uint64_t end,
                     uint64_t rss_bytes);

/* Tells what is still mapped. */
int mappings_finish(struct mappings *mappings, struct error *err);

/* Into the bytes or from them, into one without a piece (checkpoint_io.h). */
void mappings_visit(struct mappings *mappings, const struct statistics_room *room,
                    struct checkpoint_io *io);

#endif
