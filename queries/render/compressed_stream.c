/* SPDX-License-Identifier: MIT */
#include "queries/render/compressed_stream.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>
#include <zstd.h>

enum {
    CHUNK_BYTES = 64 * 1024,
    ZSTD_LEVEL = 3,
    GZIP_WINDOW_BITS = 15 + 16 /* zlib: 16 more means a gzip header */
};

struct stream {
    FILE *out;
    enum compressed_kind kind;
    z_stream gzip;
    ZSTD_CCtx *zstd;
    char chunk[CHUNK_BYTES];
};

enum compressed_kind compressed_stream_kind_of(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;

    if (dot && strcmp(dot, ".gz") == 0)
        return COMPRESSED_GZIP;
    return dot && strcmp(dot, ".zst") == 0 ? COMPRESSED_ZSTD : COMPRESSED_NONE;
}

static bool write_gzip(struct stream *stream, const char *data, size_t size, bool is_last)
{
    int rc;

    stream->gzip.next_in = (z_const Bytef *)(uintptr_t)data;
    stream->gzip.avail_in = (uInt)size;
    do {
        size_t used;
        stream->gzip.next_out = (Bytef *)stream->chunk;
        stream->gzip.avail_out = CHUNK_BYTES;
        rc = deflate(&stream->gzip, is_last ? Z_FINISH : Z_NO_FLUSH);
        used = CHUNK_BYTES - stream->gzip.avail_out;
        if (rc == Z_STREAM_ERROR || fwrite(stream->chunk, 1, used, stream->out) != used)
            return false;
    } while (is_last ? rc != Z_STREAM_END : stream->gzip.avail_in > 0);
    return true;
}

static bool write_zstd(struct stream *stream, const char *data, size_t size, bool is_last)
{
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;

    do {
        ZSTD_outBuffer packed = {stream->chunk, CHUNK_BYTES, 0};
        left = ZSTD_compressStream2(stream->zstd, &packed, &in,
                                    is_last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left) || fwrite(stream->chunk, 1, packed.pos, stream->out) != packed.pos)
            return false;
    } while (is_last ? left > 0 : in.pos < in.size);
    return true;
}

static bool put(struct stream *stream, const char *data, size_t size, bool is_last)
{
    switch (stream->kind) {
    case COMPRESSED_GZIP:
        return write_gzip(stream, data, size, is_last);
    case COMPRESSED_ZSTD:
        return write_zstd(stream, data, size, is_last);
    default:
        return size == 0 || fwrite(data, 1, size, stream->out) == size;
    }
}

static ssize_t write_stream(void *cookie, const char *data, size_t size)
{
    return put(cookie, data, size, false) ? (ssize_t)size : 0;
}

static int close_stream(void *cookie)
{
    struct stream *stream = cookie;
    bool is_good = put(stream, NULL, 0, true);

    if (stream->kind == COMPRESSED_GZIP)
        (void)deflateEnd(&stream->gzip);
    (void)ZSTD_freeCCtx(stream->zstd);
    free(stream);
    return is_good ? 0 : EOF;
}

static bool start(struct stream *stream)
{
    if (stream->kind == COMPRESSED_GZIP)
        return deflateInit2(&stream->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, 8,
                            Z_DEFAULT_STRATEGY)
               == Z_OK;
    if (stream->kind == COMPRESSED_NONE)
        return true;
    stream->zstd = ZSTD_createCCtx();
    return stream->zstd
           && !ZSTD_isError(
               ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL));
}

FILE *compressed_stream_open(FILE *out, enum compressed_kind kind)
{
    static const cookie_io_functions_t functions = {.write = write_stream, .close = close_stream};
    struct stream *stream = calloc(1, sizeof(*stream));
    FILE *file;

    if (!stream)
        return NULL;
    stream->out = out;
    stream->kind = kind;
    if (!start(stream)) {
        (void)ZSTD_freeCCtx(stream->zstd);
        free(stream);
        return NULL;
    }
    file = fopencookie(stream, "w", functions);
    if (!file)
        (void)close_stream(stream);
    else
        (void)setvbuf(file, NULL, _IOFBF, CHUNK_BYTES);
    return file;
}
