/* SPDX-License-Identifier: MIT */
/*
 * predictor: predicts an event from the earlier events of the same segment.
 *
 * The predicted stack is the one that followed the stacks of the last two events before. The rest
 * is predicted to be as at the last event there: same kind, size, slack and flags, and the address
 * found by the same guess of block_memory. The packer and the unpacker each have a predictor and
 * give it every allocation and free in the same order. docs/log-format.md has the rules.
 *
 * Invariants
 *   PN-1 Node 0 is no node. Its head equals no event's, so a comparison needs no check of the
 *        index.
 *   PN-2 n_nodes <= PREDICTOR_MAX_NODES; `last` and `before_last` are at most n_nodes.
 *
 * One thread per predictor. Inline, because it runs for every event.
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

/* The last event at a node of the segment. */
struct predictor_node {
    uint64_t head;  /* word 0 without the time */
    uint64_t call;  /* word 2 of its last allocation: size, slack, flags */
    uint16_t next;  /* what followed it */
    uint16_t guess; /* the guess that last found its address; 0 at first */
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

/* Where the node after the last two is stored. */
static inline uint16_t *predictor_pair(struct predictor *predictor)
{
    uint32_t hash = (predictor->last * 0x9e3779b1u) ^ (predictor->before_last * 0x85ebca6bu);

    return &predictor->pair_next[hash >> 20];
}

/* Notes the event's node; `pair` is the current predictor_pair. */
static inline void predictor_follow(struct predictor *predictor, uint16_t *pair, uint32_t index)
{
    *pair = (uint16_t)index;
    predictor->nodes[predictor->last].next = (uint16_t)index;
    predictor->before_last = predictor->last;
    predictor->last = index;
}

/* Adds a node that is new in the segment; returns 0 if the table is full. */
static inline uint32_t predictor_add(struct predictor *predictor, uint32_t node)
{
    if (predictor->n_nodes == PREDICTOR_MAX_NODES)
        return 0;
    predictor->nodes[++predictor->n_nodes] = (struct predictor_node){.head = (uint64_t)node << 32};
    return predictor->n_nodes;
}

/* The slot with a node's index, or the slot with 0 where it belongs. */
static inline uint16_t *predictor_find(struct predictor *predictor, uint32_t node)
{
    uint32_t slot = node * 0x9e3779b1u >> 19;

    while (predictor->node_slots[slot]
           && predictor->nodes[predictor->node_slots[slot]].head >> 32 != node)
        slot = (slot + 1) & (PREDICTOR_NODE_SLOTS - 1);
    return &predictor->node_slots[slot];
}

/* Bytes that glibc adds to a request when it splits a chunk to size. */
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

/* The fields of word 2 of an allocation. */
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
