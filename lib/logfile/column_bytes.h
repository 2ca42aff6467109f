/* SPDX-License-Identifier: MIT */
/*
 * column_bytes: columns of bytes, each of its own statistics, into one payload and back.
 *
 * Model:   columns have few repetitions left: what remains is that some bytes are frequent. So each
 *          is entropy-coded alone, as a block of one zstd stream, where that pays; others are
 *          stored. Whether it pays is tried now and then, because trying costs as much as doing it.
 *
 *              parameter, which columns are compressed, lengths | stored columns | zstd stream
 *
 * Invariants
 *   CB-1 The parameter and all columns come back as they were.
 *   CB-2 Reading trusts nothing: what it gives lies within the payload or its own memory, no column
 *        being longer than COLUMN_BYTES.
 * Threads: one per struct column_coder.
 * Failure: column_bytes_put returns 0 when the payload would be longer than the limit.
 */
#ifndef MTRACE_LIB_COLUMN_BYTES_H
#define MTRACE_LIB_COLUMN_BYTES_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COLUMN_BYTES_COLUMNS = 10,            /* at most; those not used are empty */
    COLUMN_BYTES = 2 * LOG_SEGMENT_BYTES, /* no column of one segment is longer */
    COLUMN_STRIDE = COLUMN_BYTES + 320,   /* so that columns do not meet in the processor's cache */
};

/* The columns of one payload, in the caller's memory. */
struct column_bytes {
    const uint8_t *at[COLUMN_BYTES_COLUMNS];
    size_t n_bytes[COLUMN_BYTES_COLUMNS];
};

/* What paid for the payloads before, of the same kind. */
struct column_history {
    uint8_t pauses[COLUMN_BYTES_COLUMNS]; /* payloads until compression is tried again */
};

struct column_coder;

/* NULL without memory. column_coder_free takes NULL. */
struct column_coder *column_coder_new(void);
void column_coder_free(struct column_coder *coder);

/* What zstd compressed, at most capacity bytes; returns their number, or one that ZSTD_isError knows: it is
 * damaged, or there is no memory for the first one. */
size_t column_coder_expand(struct column_coder *coder, void *out, size_t capacity, const void *in,
                           size_t n_bytes);

/* Writes the payload, at most limit bytes; returns its length, 0 if that is not enough. */
size_t column_bytes_put(struct column_coder *coder, struct column_history *history,
                        unsigned parameter, const struct column_bytes *columns, uint8_t *out,
                        size_t limit);

/* Reads one; the columns are valid until the payload goes or the next call; false if damaged. */
bool column_bytes_get(struct column_coder *coder, const uint8_t *payload, size_t n_bytes,
                      unsigned *ret_parameter, struct column_bytes *ret_columns);

#endif
