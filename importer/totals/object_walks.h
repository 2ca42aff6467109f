/* SPDX-License-Identifier: MIT */
/*
 * object_walks: which live blocks the program's objects own, as reported through mtrace_objects.h.
 *
 * A walk is a tree of nodes and a list of claims, written one after another by one thread. A claim
 * refers to the block that is live at its address at that time. At the end of the walk, unclaimed
 * blocks are computed by stack from the totals, so a walk costs its claims and the stacks.
 *
 * Invariants
 *   OB-1 A node's parent has a lower number; a claim's node belongs to the walk. Other records are
 *        ignored and counted.
 *   OB-2 claimed + unclaimed = live, in blocks and bytes, at the end of the walk.
 *   OB-3 At most OBJECT_WALKS_OPEN walks are open. Another one and its records are ignored.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_OBJECT_WALKS_H
#define MTRACE_IMPORTER_OBJECT_WALKS_H

#include "importer/model/event.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/pool_blocks.h"
#include "importer/totals/stable_numbers.h"
#include "importer/totals/totals.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/totals/pair_totals.h"

#include <stdbool.h>

struct object_node {
    const char *name;
    uint32_t parent; /* number, 0: none */
    uint8_t kind;    /* enum log_object_kind */
    uint64_t n_objects;
    uint64_t self_bytes; /* as declared */
    /* of the claimed blocks, each counted once */
    uint64_t slack_bytes, overhead_bytes;
};

struct object_claim {
    uint64_t address;
    uint64_t declared_bytes;
    uint64_t allocation_id; /* 0: no malloc block begins there */
    uint64_t pool_block_id; /* 0: none of a pool */
    uint64_t size_bytes;    /* of the block, requested */
    uint32_t node;
    uint8_t kind;     /* 0 root, 1 unique, 2 shared */
    bool is_repeated; /* claimed before in this walk */
};

struct object_walk {
    const char *name;
    uint64_t start_ns;
    uint32_t process, thread;
    uint64_t number;
    struct object_node *nodes; /* by number, from 1 on */
    size_t n_nodes, nodes_capacity;
    struct object_claim *claims;
    size_t n_claims, claims_capacity;
    struct id_table by_address; /* index + 1 of the first claim */
    const char **warnings;
    size_t n_texts, warnings_capacity;
    uint64_t n_warnings;
    uint64_t live_blocks, live_bytes;
    uint64_t claimed_blocks, claimed_bytes;
    bool is_open;
};

/* OB-3 */
enum {
    OBJECT_WALKS_OPEN = 1024
};

/* Zero-initialized: empty. */
struct object_walks {
    struct object_walk *list;
    size_t n, capacity;
    size_t open[OBJECT_WALKS_OPEN]; /* indexes, in the order in which they began */
    size_t n_open;
    struct hash_map
        unclaimed;  /* pair_totals_entry; process: number of the walk, from: stack, to: 1 */
    uint64_t n_bad; /* invalid records */
};

void object_walks_done(struct object_walks *walks);

/* Handles an EVENT_OBJECT_*. pools may be NULL. live: totals of the event's process, for the same
 * blocks as the pairing. */
int object_walks_event(struct object_walks *walks, const struct event *event,
                       struct pairing *pairing, const struct pool_blocks *pools,
                       const struct process_totals *live, struct error *err);

#endif
