/* SPDX-License-Identifier: MIT */
#include "lib/logfile/column_bytes.h"

#include "lib/abi/varint.h"

#include <stdlib.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* declares the parameters of prepare */
#include <zstd.h>

enum {
    HEADER_MAX_BYTES = (2 + COLUMN_BYTES_COLUMNS) * VARINT_MAX_BYTES,
    LEVEL = -1000,           /* hardly searches: columns have few repetitions */
    HASH_LOG = 10,           /* a few kilobytes to search for repetitions */
    ENTROPY_MIN_BYTES = 128, /* a shorter column is stored */
    ENTROPY_GAIN = 8,        /* compression pays if it saves one byte of so many */
    ENTROPY_PAUSE = 15,      /* otherwise so many payloads pass before the next test */
};

struct column_coder {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor; /* NULL until the first read: writers need none */
    uint8_t decoded[COLUMN_BYTES_COLUMNS * COLUMN_BYTES]; /* decompressed columns */
};

/*
 * A negative level skips ahead where it finds no repetitions. It would also store literals
 * uncompressed, without the second parameter. A zstd without that parameter makes longer payloads.
 */
static void prepare(ZSTD_CCtx *compressor)
{
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_hashLog, HASH_LOG);
}

struct column_coder *column_coder_new(void)
{
    struct column_coder *coder = calloc(1, sizeof(*coder));

    if (!coder)
        return NULL;
    coder->compressor = ZSTD_createCCtx();
    if (!coder->compressor) {
        column_coder_free(coder);
        return NULL;
    }
    prepare(coder->compressor);
    return coder;
}

void column_coder_free(struct column_coder *coder)
{
    if (!coder)
        return;
    ZSTD_freeCCtx(coder->compressor);
    ZSTD_freeDCtx(coder->decompressor);
    free(coder);
}

size_t column_coder_expand(struct column_coder *coder, void *out, size_t capacity, const void *in,
                           size_t n_bytes)
{
    if (!coder->decompressor)
        coder->decompressor = ZSTD_createDCtx();
    if (!coder->decompressor)
        return SIZE_MAX; /* an error for ZSTD_isError */
    return ZSTD_decompressDCtx(coder->decompressor, out, capacity, in, n_bytes);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Chooses the columns to compress: a bit each. */
static unsigned choose(struct column_history *history, const struct column_bytes *columns)
{
    unsigned chosen = 0;

    for (int i = 0; i < COLUMN_BYTES_COLUMNS; i++) {
        if (columns->n_bytes[i] < ENTROPY_MIN_BYTES)
            continue;
        if (history->pauses[i] == 0)
            chosen |= 1u << i;
        else
            history->pauses[i]--;
    }
    return chosen;
}

/* Writes everything except the zstd stream. */
static bool put_stored(const struct column_bytes *columns, unsigned parameter, unsigned chosen,
                       ZSTD_outBuffer *out)
{
    uint8_t header[HEADER_MAX_BYTES];
    uint8_t *end = varint_put(header, parameter);
    uint8_t *next = out->dst;
    size_t n_stored = 0;

    end = varint_put(end, chosen);
    for (int i = 0; i < COLUMN_BYTES_COLUMNS; i++) {
        end = varint_put(end, columns->n_bytes[i]);
        n_stored += chosen >> i & 1 ? 0 : columns->n_bytes[i];
    }
    out->pos = (size_t)(end - header) + n_stored;
    if (out->pos > out->size)
        return false;
    memcpy(next, header, (size_t)(end - header));
    next += end - header;
    for (int i = 0; i < COLUMN_BYTES_COLUMNS; i++) {
        if (chosen >> i & 1 || columns->n_bytes[i] == 0)
            continue;
        memcpy(next, columns->at[i], columns->n_bytes[i]);
        next += columns->n_bytes[i];
    }
    return true;
}

/* Ends a zstd block after each column, so that each has its own entropy table. */
static bool compress_one(ZSTD_CCtx *compressor, const uint8_t *bytes, size_t n_bytes, bool is_last,
                         ZSTD_outBuffer *out, uint8_t *ret_pause)
{
    ZSTD_inBuffer in = {bytes, n_bytes, 0};
    size_t start = out->pos;
    size_t left = ZSTD_compressStream2(compressor, out, &in, is_last ? ZSTD_e_end : ZSTD_e_flush);

    if (out->pos - start > n_bytes - n_bytes / ENTROPY_GAIN)
        *ret_pause = ENTROPY_PAUSE;
    return left == 0 && in.pos == in.size;
}

static bool put_compressed(ZSTD_CCtx *compressor, struct column_history *history,
                           const struct column_bytes *columns, unsigned chosen, ZSTD_outBuffer *out)
{
    size_t n_total = 0;

    for (int i = 0; i < COLUMN_BYTES_COLUMNS; i++)
        n_total += chosen >> i & 1 ? columns->n_bytes[i] : 0;
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(compressor, n_total);
    for (int i = 0; chosen != 0; i++) {
        bool is_chosen = chosen >> i & 1;
        chosen &= ~(1u << i);
        if (is_chosen
            && !compress_one(compressor, columns->at[i], columns->n_bytes[i], chosen == 0, out,
                             &history->pauses[i]))
            return false;
    }
    return true;
}

size_t column_bytes_put(struct column_coder *coder, struct column_history *history,
                        unsigned parameter, const struct column_bytes *columns, uint8_t *out,
                        size_t limit)
{
    ZSTD_outBuffer buffer = {out, limit, 0};
    unsigned chosen = choose(history, columns);

    if (!put_stored(columns, parameter, chosen, &buffer)
        || !put_compressed(coder->compressor, history, columns, chosen, &buffer))
        return 0;
    return buffer.pos;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the parameter, which columns are compressed, and all lengths; NULL if they are cut. */
static const uint8_t *get_header(const uint8_t *in, const uint8_t *end, uint64_t *ret_parameter,
                                 uint64_t *ret_chosen, struct column_bytes *columns)
{
    in = varint_get(in, end, ret_parameter);
    if (in)
        in = varint_get(in, end, ret_chosen);
    for (int i = 0; in && i < COLUMN_BYTES_COLUMNS; i++) {
        uint64_t n = 0;
        in = varint_get(in, end, &n);
        if (n > COLUMN_BYTES)
            return NULL;
        columns->n_bytes[i] = (size_t)n;
    }
    return in;
}

/* Sets the columns of `which`, one after another in [in, end); NULL if they do not fit. */
static const uint8_t *place(const uint8_t *in, const uint8_t *end, uint64_t which,
                            struct column_bytes *columns)
{
    for (int i = 0; i < COLUMN_BYTES_COLUMNS; i++) {
        if (!(which >> i & 1))
            continue;
        if (columns->n_bytes[i] > (size_t)(end - in))
            return NULL;
        columns->at[i] = in;
        in += columns->n_bytes[i];
    }
    return in;
}

bool column_bytes_get(struct column_coder *coder, const uint8_t *payload, size_t n_bytes,
                      unsigned *ret_parameter, struct column_bytes *ret_columns)
{
    const uint8_t *end = payload + n_bytes;
    const uint8_t *in;
    uint64_t parameter = 0;
    uint64_t chosen = 0;
    size_t n = 0;

    in = get_header(payload, end, &parameter, &chosen, ret_columns);
    if (in)
        in = place(in, end, ~chosen, ret_columns);
    if (!in || parameter > UINT16_MAX)
        return false;
    if (in != end)
        n = column_coder_expand(coder, coder->decoded, sizeof(coder->decoded), in,
                                (size_t)(end - in));
    if (ZSTD_isError(n))
        return false;
    *ret_parameter = (unsigned)parameter;
    return place(coder->decoded, coder->decoded + n, chosen, ret_columns) == coder->decoded + n;
}
