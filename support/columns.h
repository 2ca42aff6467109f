/* SPDX-License-Identifier: MIT */
/*
 * columns: the events of one segment, transposed into columns that compress well, and back.
 *
 * Model:   events go through a predictor (nodes by what followed a node before, sizes by node,
 *          addresses by block_memory). One op byte per event says which predictions held; what did
 *          not hold is written to the column of its kind. The decoder runs the same predictor.
 *          docs/log-format.md describes every column.
 * Invariants
 *   CN-1 decode(encode(events)) = events, but for times: each is rounded down to a multiple of
 *        1 << time_shift ticks. Order is kept: no event moves before one it followed, though two
 *        may come to the same tick.
 *   CN-2 columns_decode writes at most its capacity and reads nothing outside its input, whatever
 *        the bytes.
 *   CN-3 A segment is encoded from nothing: no state survives a call.
 * Threads: one per struct columns.
 * Failure: columns_encode refuses events that are no log (a length beyond the end, a time that does
 *          not fit after rounding): pack them unencoded. columns_decode refuses damaged columns.
 */
#ifndef MTRACE_SUPPORT_COLUMNS_H
#define MTRACE_SUPPORT_COLUMNS_H

#include "support/block_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column {
    COLUMN_OP,        /* one byte per event */
    COLUMN_TIME,      /* one byte per event with a time */
    COLUMN_TIME_MORE, /* what did not fit there */
    COLUMN_NODE,      /* nodes that were not predicted, as varints */
    COLUMN_KIND,      /* kind and flags when not the node's last */
    COLUMN_SIZE,      /* sizes that were not the node's last, as varints */
    COLUMN_SLACK,     /* slacks that glibc's rule does not give, as varints */
    COLUMN_PLACE,     /* records of block_memory, as varints */
    COLUMN_ADDRESS,   /* addresses never mentioned before, as varints */
    COLUMN_RAW,       /* whole events of rare kinds, as varints */
    COLUMN_COUNT,
};

enum {
    COLUMN_BYTES = 2 * LOG_SEGMENT_BYTES, /* no column of one segment is longer */
    COLUMNS_MAX_TIME_SHIFT = 12,
    COLUMNS_MAX_NODES = LOG_SEGMENT_PAYLOAD_BYTES / 16,
};

/* What followed and what was asked for at a node of this segment. */
struct column_node {
    uint32_t node;
    uint8_t kind;
    uint8_t flags;
    uint16_t next; /* what followed it last */
    uint64_t size;
};

struct columns {
    uint8_t *bytes[COLUMN_COUNT]; /* COLUMN_BYTES each; COLUMN_ADDRESS before decode: the input's */
    size_t n_bytes[COLUMN_COUNT];
    uint64_t n_events; /* that columns_encode found */
    uint16_t node_slots[BLOCK_MEMORY_SLOTS];
    uint16_t pair_next[BLOCK_MEMORY_SLOTS]; /* what followed two nodes last */
    struct column_node nodes[COLUMNS_MAX_NODES + 1];
    struct block_memory blocks;
};

/* Fills columns->bytes and n_bytes; false if the events cannot be encoded. */
bool columns_encode(struct columns *columns, const uint64_t *words, size_t n_words,
                    uint64_t base_ticks, unsigned time_shift);

/* The inverse: reads columns->bytes and n_bytes, writes exactly n_words; false if damaged.
 * base_ticks is the encoder's, rounded down like every time. */
bool columns_decode(struct columns *columns, uint64_t *words, size_t n_words, uint64_t base_ticks,
                    unsigned time_shift);

#endif
