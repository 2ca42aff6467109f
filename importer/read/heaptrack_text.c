/* SPDX-License-Identifier: MIT */
#include "importer/read/heaptrack_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
    INPUT_BYTES = 1 << 17,
    GZIP_WINDOW = 15 + 16, /* zlib: accept gzip headers only */
};

enum compression {
    PLAIN,
    GZIP,
    ZSTANDARD
};

struct heaptrack_codec {
    const char *path;
    int fd;
    enum compression compression;
    z_stream gzip;
    ZSTD_DStream *zstd;
    unsigned char *input; /* INPUT_BYTES */
    size_t begin, end;
    uint64_t read_bytes;
    bool is_inside; /* inside a frame or member */
    bool is_at_end;
};

static int fill_input(struct heaptrack_codec *codec, struct error *err)
{
    ssize_t n;

    do
        n = read(codec->fd, codec->input, INPUT_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_set_errno(err, errno, "cannot read '%s'", codec->path);
    codec->begin = 0;
    codec->end = (size_t)n;
    codec->read_bytes += (uint64_t)n;
    codec->is_at_end = n == 0;
    return 0;
}

/* Each step consumes input and returns the bytes written to `to`; false: damaged. */
static bool step_plain(struct heaptrack_codec *codec, char *to, size_t room, size_t *ret_n)
{
    size_t n = codec->end - codec->begin;

    *ret_n = n < room ? n : room;
    memcpy(to, codec->input + codec->begin, *ret_n);
    codec->begin += *ret_n;
    return true;
}

static bool step_gzip(struct heaptrack_codec *codec, char *to, size_t room, size_t *ret_n)
{
    z_stream *stream = &codec->gzip;
    int r;

    stream->next_in = codec->input + codec->begin;
    stream->avail_in = (uInt)(codec->end - codec->begin);
    stream->next_out = (Bytef *)to;
    stream->avail_out = (uInt)room;
    r = inflate(stream, Z_NO_FLUSH);
    codec->begin = codec->end - stream->avail_in;
    *ret_n = room - stream->avail_out;
    codec->is_inside = r != Z_STREAM_END;
    if (r == Z_STREAM_END)
        return inflateReset(stream) == Z_OK;
    return r == Z_OK || r == Z_BUF_ERROR;
}

static bool step_zstd(struct heaptrack_codec *codec, char *to, size_t room, size_t *ret_n)
{
    ZSTD_inBuffer in = {codec->input, codec->end, codec->begin};
    ZSTD_outBuffer out = {to, room, 0};
    size_t r = ZSTD_decompressStream(codec->zstd, &out, &in);

    codec->begin = in.pos;
    *ret_n = out.pos;
    codec->is_inside = r != 0;
    return !ZSTD_isError(r);
}

/* Decodes more text, 0 bytes at the end. Output pending in a codec comes before new input. */
static int decode(struct heaptrack_text *text, char *to, size_t room, size_t *ret_n,
                  struct error *err)
{
    static bool (*const steps[])(struct heaptrack_codec *, char *, size_t, size_t *) = {
        [PLAIN] = step_plain, [GZIP] = step_gzip, [ZSTANDARD] = step_zstd};
    struct heaptrack_codec *codec = text->codec;

    *ret_n = 0;
    while (*ret_n == 0) {
        if (codec->begin == codec->end && !codec->is_at_end) {
            int r = fill_input(codec, err);
            if (r != 0)
                return r;
        }
        if (codec->begin == codec->end && !codec->is_inside)
            return 0;
        if (!steps[codec->compression](codec, to, room, ret_n)
            || (*ret_n == 0 && codec->is_at_end)) {
            text->is_cut = true;
            codec->begin = codec->end;
            codec->is_inside = false;
            codec->is_at_end = true;
            return 0;
        }
    }
    return 0;
}

static int recognize(struct heaptrack_codec *codec, struct error *err)
{
    static const unsigned char gzip[] = {0x1f, 0x8b};
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    int r = fill_input(codec, err);

    if (r != 0)
        return r;
    if (codec->end >= sizeof(gzip) && memcmp(codec->input, gzip, sizeof(gzip)) == 0)
        codec->compression = GZIP;
    else if (codec->end >= sizeof(zstd) && memcmp(codec->input, zstd, sizeof(zstd)) == 0)
        codec->compression = ZSTANDARD;
    if (codec->compression == GZIP && inflateInit2(&codec->gzip, GZIP_WINDOW) != Z_OK)
        return error_set(err, ERROR_NOMEM, "out of memory");
    if (codec->compression == ZSTANDARD && !(codec->zstd = ZSTD_createDStream()))
        return error_set(err, ERROR_NOMEM, "out of memory");
    return 0;
}

int heaptrack_text_open(const char *path, struct heaptrack_text *text, struct error *err)
{
    struct heaptrack_codec *codec = calloc(1, sizeof(*codec));
    struct stat status;

    *text = (struct heaptrack_text){.codec = codec, .buffer = malloc(HEAPTRACK_LINE_BYTES + 1)};
    if (!codec)
        return error_set(err, ERROR_NOMEM, "out of memory");
    codec->path = path;
    codec->fd = -1;
    codec->input = malloc(INPUT_BYTES);
    if (!codec->input || !text->buffer)
        return error_set(err, ERROR_NOMEM, "out of memory");
    codec->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait for a writer */
    if (codec->fd < 0 || fstat(codec->fd, &status) != 0)
        return error_set_errno(err, errno, "cannot read '%s'", path);
    if (!S_ISREG(status.st_mode))
        return error_set(err, ERROR_FORMAT, "'%s' is not a regular file", path);
    text->size_bytes = (uint64_t)status.st_size;
    int r = recognize(codec, err);
    text->is_compressed = codec->compression != PLAIN;
    return r;
}

void heaptrack_text_close(struct heaptrack_text *text)
{
    struct heaptrack_codec *codec = text->codec;

    if (codec && codec->fd >= 0)
        close(codec->fd);
    if (codec && codec->compression == GZIP)
        inflateEnd(&codec->gzip);
    if (codec) {
        ZSTD_freeDStream(codec->zstd);
        free(codec->input);
    }
    free(codec);
    free(text->buffer);
    *text = (struct heaptrack_text){0};
}

/* Moves the rest to the front to free space; a line that fills the whole buffer is dropped. */
static int refill(struct heaptrack_text *text, bool *is_skipping, size_t *ret_n, struct error *err)
{
    size_t kept = text->end - text->begin;
    int r;

    if (kept == HEAPTRACK_LINE_BYTES) {
        *is_skipping = true;
        text->offset += kept;
        kept = 0;
    } else if (kept > 0) {
        memmove(text->buffer, text->buffer + text->begin, kept);
    }
    text->begin = 0;
    text->end = kept;
    r = decode(text, text->buffer + kept, HEAPTRACK_LINE_BYTES - kept, ret_n, err);
    text->end += *ret_n;
    return r;
}

int heaptrack_text_next(struct heaptrack_text *text, char **ret_line, size_t *ret_length,
                        struct error *err)
{
    bool is_skipping = false;
    size_t searched = 0;

    for (;;) {
        char *begin = text->buffer + text->begin;
        size_t n = text->end - text->begin;
        char *newline = n > searched ? memchr(begin + searched, '\n', n - searched) : NULL;
        size_t n_more = 0;
        int r;
        if (newline) {
            size_t length = (size_t)(newline - begin);
            *newline = '\0';
            text->line_number++;
            text->line_offset = text->offset;
            text->begin += length + 1;
            text->offset += length + 1;
            if (!is_skipping) {
                *ret_line = begin;
                *ret_length = length;
                return 1;
            }
            text->n_too_long++;
            is_skipping = false;
            searched = 0;
            continue;
        }
        searched = n == HEAPTRACK_LINE_BYTES ? 0 : n;
        r = refill(text, &is_skipping, &n_more, err);
        if (r != 0)
            return r;
        if (n_more == 0) {
            text->is_cut |= text->end > text->begin || is_skipping;
            text->begin = text->end = 0;
            return 0;
        }
    }
}
