/* SPDX-License-Identifier: MIT */
/*
 * column_bytes: stores columns of bytes with different statistics in one payload, and reads them.
 *
 * Columns have few repetitions left; the gain is that some bytes are frequent. So each column is
 * entropy-coded alone, as a block of one zstd stream, if that pays; others are stored. Whether it
 * pays is tested now and then, because a test costs as much as compressing.
 *
 *             parameter, which columns are compressed, lengths | stored columns | zstd stream
 *
 * Invariants
 *   CB-1 The parameter and all columns are restored exactly.
 *   CB-2 Input is untrusted: results lie within the payload or the coder's memory, and no column is
 *        longer than COLUMN_BYTES.
 *
 * One thread per struct column_coder. column_bytes_put returns 0 if the payload would exceed the
 * limit.
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
    COLUMN_STRIDE =
        COLUMN_BYTES + 320, /* so that columns do not collide in the processor's cache */
};

/* The columns of one payload, in the caller's memory. */
struct column_bytes {
    const uint8_t *at[COLUMN_BYTES_COLUMNS];
    size_t n_bytes[COLUMN_BYTES_COLUMNS];
};

/* Which columns of earlier payloads of this kind were worth compressing. */
struct column_history {
    uint8_t pauses[COLUMN_BYTES_COLUMNS]; /* payloads until compression is tried again */
};

struct column_coder;

/* NULL without memory. column_coder_free takes NULL. */
struct column_coder *column_coder_new(void);
void column_coder_free(struct column_coder *coder);

/* Decompresses at most capacity bytes. Returns their number, or an error for ZSTD_isError: damaged
 * input, or no memory at the first call. */
size_t column_coder_expand(struct column_coder *coder, void *out, size_t capacity, const void *in,
                           size_t n_bytes);

/* Writes the payload, at most limit bytes; returns its length, 0 if it does not fit. */
size_t column_bytes_put(struct column_coder *coder, struct column_history *history,
                        unsigned parameter, const struct column_bytes *columns, uint8_t *out,
                        size_t limit);

/* Reads a payload; the columns are valid until the payload ends or the next call. False if
 * damaged. */
bool column_bytes_get(struct column_coder *coder, const uint8_t *payload, size_t n_bytes,
                      unsigned *ret_parameter, struct column_bytes *ret_columns);

#endif
