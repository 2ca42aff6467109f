/* SPDX-License-Identifier: MIT */
/*
 * predictor: what an event is expected to be, by the events of the same segment before it.
 *
 * Model:   an event is expected at the stack that followed the last two events' stacks before, and
 *          to be what happened there last: same kind, size, slack and flags, its address found by
 *          the same guess of block_memory. The packer and the unpacker keep one each and tell it
 *          of every allocation and free in the same order. docs/log-format.md has the rules.
 * Invariants
 *   PN-1 Node 0 is no node; its head equals no event's, so comparing needs no look at the index.
 *   PN-2 n_nodes <= PREDICTOR_MAX_NODES; `last` and `before_last` are at most n_nodes.
 * Threads: one per predictor. Inline, as every event comes here.
 */
#ifndef MTRACE_LIB_PREDICTOR_H
#define MTRACE_LIB_PREDICTOR_H

#include "lib/base/block_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    PREDICTOR_MAX_NODES = LOG_SEGMENT_PAYLOAD_BYTES / 16,
    PREDICTOR_NODE_SLOTS = 8192, /* at most half full */
    PREDICTOR_PAIRS = 4096,
};

static const uint64_t PREDICTOR_HEAD_MASK = 0xffffffff000000ff; /* of word 0: node and kind */
static const uint64_t PREDICTOR_NO_HEAD = 0xff00;               /* outside the mask */

/* What happened at a node of the segment last. */
struct predictor_node {
    uint64_t head;  /* word 0 without the time */
    uint64_t call;  /* word 2 of its last allocation: size, slack, flags */
    uint16_t next;  /* what followed it */
    uint16_t guess; /* the last one that found its address; 0 at first */
};

struct predictor {
    uint32_t n_nodes;
    uint32_t last, before_last; /* nodes of the last two events */
    uint32_t reserved;
    uint16_t pair_next[PREDICTOR_PAIRS];       /* what followed two nodes last */
    uint16_t node_slots[PREDICTOR_NODE_SLOTS]; /* node -> index, for predictor_find */
    struct block_memory blocks;
    struct predictor_node nodes[PREDICTOR_MAX_NODES + 1];
};

/* Forgets everything. */
static inline void predictor_clear(struct predictor *predictor)
{
    memset(predictor, 0, offsetof(struct predictor, blocks));
    predictor->nodes[0] = (struct predictor_node){.head = PREDICTOR_NO_HEAD};
    block_memory_clear(&predictor->blocks);
}

/* Where the node after the last two is remembered. */
static inline uint16_t *predictor_pair(struct predictor *predictor)
{
    uint32_t hash = (predictor->last * 0x9e3779b1u) ^ (predictor->before_last * 0x85ebca6bu);

    return &predictor->pair_next[hash >> 20];
}

/* The event's node is this one; `pair` is predictor_pair of now. */
static inline void predictor_follow(struct predictor *predictor, uint16_t *pair, uint32_t index)
{
    *pair = (uint16_t)index;
    predictor->nodes[predictor->last].next = (uint16_t)index;
    predictor->before_last = predictor->last;
    predictor->last = index;
}

/* A node that the segment did not have; 0 when there is no room. */
static inline uint32_t predictor_add(struct predictor *predictor, uint32_t node)
{
    if (predictor->n_nodes == PREDICTOR_MAX_NODES)
        return 0;
    predictor->nodes[++predictor->n_nodes] = (struct predictor_node){.head = (uint64_t)node << 32};
    return predictor->n_nodes;
}

/* The slot that has a node's index, or 0 where it belongs. */
static inline uint16_t *predictor_find(struct predictor *predictor, uint32_t node)
{
    uint32_t slot = node * 0x9e3779b1u >> 19;

    while (predictor->node_slots[slot]
           && predictor->nodes[predictor->node_slots[slot]].head >> 32 != node)
        slot = (slot + 1) & (PREDICTOR_NODE_SLOTS - 1);
    return &predictor->node_slots[slot];
}

/* Bytes glibc gives beyond what was asked for, when it splits a chunk to measure. */
static inline uint64_t predictor_slack(uint64_t size, unsigned flags)
{
    uint64_t chunk;

    if (flags & LOG_CHUNK_MMAPPED)
        return ((size + 16 + 4095) & ~4095ull) - 16 - size;
    chunk = (size + 8 + 15) & ~15ull;
    if (chunk < 32)
        chunk = 32;
    return chunk - 8 - size;
}

/* Word 2 of an allocation, taken apart. */
static inline uint64_t predictor_size(uint64_t call)
{
    return call & ((1ull << LOG_SIZE_BITS) - 1);
}

static inline uint64_t predictor_given_slack(uint64_t call)
{
    return call >> LOG_SIZE_BITS & ((1u << LOG_SLACK_BITS) - 1);
}

static inline unsigned predictor_flags(uint64_t call)
{
    return (unsigned)(call >> (LOG_SIZE_BITS + LOG_SLACK_BITS));
}

static inline uint64_t predictor_usable(uint64_t call)
{
    return predictor_size(call) + predictor_given_slack(call);
}

#endif
