/* SPDX-License-Identifier: MIT */
/*
 * columns: transposes the events of one segment into columns that compress well, and back.
 *
 * Events go through a predictor (predictor.h). An event that is as predicted costs only its time:
 * one byte counts up to 63 of them in a row. For any other event an op byte says which predictions
 * held; the rest is written to the columns of its kind. The decoder runs the same predictor.
 * docs/log-format.md describes every column.
 *
 * Invariants
 *   CN-1 decode(encode(events)) = events, except that times are rounded down to a multiple of 1 <<
 *        time_shift ticks. The order is kept, though two events may get the same tick.
 *   CN-2 columns_decode writes at most its capacity and reads nothing outside its input, for any
 *        bytes.
 *   CN-3 Encoding a segment starts from nothing: no state survives a call.
 *
 * One thread per struct columns. columns_encode refuses events that are no log (a length beyond the
 * end, a time that does not fit after rounding); pack these unencoded. columns_decode refuses
 * damaged columns.
 */
#ifndef MTRACE_LIB_COLUMNS_H
#define MTRACE_LIB_COLUMNS_H

#include "lib/logfile/column_bytes.h"
#include "lib/logfile/predictor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column {
    COLUMN_OP,        /* a byte per unpredicted event, or per run of predicted ones */
    COLUMN_TIME,      /* one byte per event with a time */
    COLUMN_TIME_MORE, /* what did not fit there */
    COLUMN_NODE,      /* nodes that were not predicted, as varints */
    COLUMN_KIND,      /* kind, and flags, if they differ from the last event's at the node */
    COLUMN_SIZE,      /* sizes that were not the node's last, as varints */
    COLUMN_SLACK,     /* slacks that glibc's rule does not give, as varints */
    COLUMN_PLACE,     /* records of block_memory, as varints */
    COLUMN_ADDRESS,   /* addresses never mentioned before, as varints */
    COLUMN_RAW,       /* whole events of rare kinds, as varints */
    COLUMN_COUNT = COLUMN_BYTES_COLUMNS,
};

/*
 * The op byte. Bits 0-1: how the node is found. Bit 2: kind or flags differ from the node's last.
 * Allocations: bit 3: size differs from the node's last, bit 4: slack differs from glibc's, bits
 * 5-7: the address. Frees: bits 3-5: the address. Reallocs: as allocations; the old address has its
 * own op byte.
 */
enum column_op {
    OP_AFTER_PAIR = 0, /* the node that followed the last two */
    OP_AFTER_ONE = 1,  /* the node that followed the last */
    OP_WRITTEN = 2,    /* in COLUMN_NODE */
    OP_RUN = 3,        /* bits 2-7: n predicted events; 0: one whole event in COLUMN_RAW */
    OP_NODE_MASK = 3,
    OP_RUN_SHIFT = 2,
    OP_RUN_MAX = 63,
    OP_KIND_MISS = 1 << 2,
    OP_SIZE_MISS = 1 << 3,
    OP_SLACK_MISS = 1 << 4,
    OP_NEW_SHIFT = 5,
    OP_OLD_SHIFT = 3,
    OP_ADDRESS_MASK = 7,
    OP_PLACE = 4, /* in COLUMN_PLACE; below: the guesses of block_memory */
    OP_NEAR = 5,  /* in COLUMN_ADDRESS, relative to the last such one */
    OP_SAME = 7,  /* realloc: the block did not move */
};

enum {
    KIND_FLAGS = 1 /* added to a kind of COLUMN_KIND when its flags follow */
};

enum column_time {
    TIME_DIRECT = 192, /* COLUMN_TIME: a delta below this is its byte */
    TIME_FAR = 255,    /* the delta is a signed varint; else high bits here, low byte beside */
    TIME_NEAR_LIMIT = (TIME_FAR - TIME_DIRECT) << 8,
};

enum {
    COLUMNS_MAX_TIME_SHIFT = 12
};

struct columns {
    struct predictor predictor;
    struct column_bytes encoded; /* by columns_encode, in `bytes` */
    uint64_t n_events;           /* that columns_encode found */
    uint8_t bytes[COLUMN_COUNT][COLUMN_STRIDE];
};

/* Fills columns->encoded and n_events; false if the events cannot be encoded. n_words: at most a
 * segment's. */
bool columns_encode(struct columns *columns, const uint64_t *words, size_t n_words,
                    uint64_t base_ticks, unsigned time_shift);

/* The inverse: reads `in` and writes exactly n_words, at most a segment's; false if damaged.
 * base_ticks is the encoder's, rounded down like every time. */
bool columns_decode(struct predictor *predictor, const struct column_bytes *in, uint64_t *words,
                    size_t n_words, uint64_t base_ticks, unsigned time_shift);

#endif
