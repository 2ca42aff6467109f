/* SPDX-License-Identifier: MIT */
#include "support/pack.h"

#include "common/varint.h"
#include "support/columns.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    COLUMNS_HEADER_BYTES = 1 + COLUMN_COUNT * VARINT_MAX_BYTES,
    BLOCK_MIN_BYTES = 256,
    COLUMNS_MAX_BYTES = COLUMNS_HEADER_BYTES + COLUMN_COUNT * COLUMN_BYTES,
};

struct pack {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    struct columns columns;
    uint8_t columns_bytes[COLUMN_COUNT][COLUMN_BYTES]; /* while encoding */
    uint8_t decoded[COLUMNS_MAX_BYTES];                /* columns, out of zstd */
};

struct pack *pack_new(void)
{
    struct pack *pack = calloc(1, sizeof(*pack));

    if (!pack)
        return NULL;
    pack->compressor = ZSTD_createCCtx();
    pack->decompressor = ZSTD_createDCtx();
    if (!pack->compressor || !pack->decompressor) {
        pack_free(pack);
        return NULL;
    }
    return pack;
}

void pack_free(struct pack *pack)
{
    if (!pack)
        return;
    ZSTD_freeCCtx(pack->compressor);
    ZSTD_freeDCtx(pack->decompressor);
    free(pack);
}

static uint32_t header_checksum(const struct log_frame *frame)
{
    struct log_frame copy;

    memcpy(&copy, frame, sizeof(copy));
    copy.header_checksum = 0;
    return (uint32_t)XXH64(&copy, sizeof(copy), 0);
}

static size_t padding_bytes(uint32_t payload_bytes)
{
    return -(size_t)payload_bytes & (PACK_FRAME_ALIGN - 1);
}

/* The payload is in place behind the header; returns the bytes of the frame. */
static size_t seal_frame(struct log_frame *frame, uint8_t *out)
{
    size_t padding = padding_bytes(frame->payload_bytes);

    frame->magic = LOG_FRAME_MAGIC;
    frame->payload_checksum = XXH64(out + sizeof(*frame), frame->payload_bytes, 0);
    frame->header_checksum = header_checksum(frame);
    memcpy(out, frame, sizeof(*frame));
    memset(out + sizeof(*frame) + frame->payload_bytes, 0, padding);
    return sizeof(*frame) + frame->payload_bytes + padding;
}

static void begin_frame(struct pack *pack, const struct pack_settings *settings)
{
    ZSTD_CCtx_reset(pack->compressor, ZSTD_reset_session_only);
    ZSTD_CCtx_setParameter(pack->compressor, ZSTD_c_compressionLevel, settings->zstd_level);
}

/* Stored or through zstd, whatever is shorter. */
static void put_plain(struct pack *pack, const struct pack_settings *settings,
                      struct log_frame *frame, const void *bytes, uint8_t *out)
{
    uint32_t n_bytes = frame->raw_bytes;
    size_t n = 0;

    if (settings->zstd_level > 0 && n_bytes > 0) {
        begin_frame(pack, settings);
        n = ZSTD_compress2(pack->compressor, out + sizeof(*frame), n_bytes, bytes, n_bytes);
    }
    if (n > 0 && !ZSTD_isError(n)) {
        frame->codec = LOG_CODEC_ZSTD;
        frame->payload_bytes = (uint32_t)n;
        return;
    }
    frame->codec = LOG_CODEC_STORED;
    frame->payload_bytes = n_bytes;
    memcpy(out + sizeof(*frame), bytes, n_bytes);
}

static bool compress_part(struct pack *pack, const uint8_t *bytes, size_t n_bytes,
                          ZSTD_EndDirective directive, ZSTD_outBuffer *out)
{
    ZSTD_inBuffer in = {bytes, n_bytes, 0};
    size_t left = ZSTD_compressStream2(pack->compressor, out, &in, directive);

    return !ZSTD_isError(left) && in.pos == in.size && (directive == ZSTD_e_continue || left == 0);
}

/* A zstd block ends with each column, so that each has an entropy table of its own; but tables
 * cost time, so a short column shares the block of the next. */
static bool compress_columns(struct pack *pack, ZSTD_outBuffer *out)
{
    const struct columns *columns = &pack->columns;
    size_t n_open = 0;

    for (int i = 0; i < COLUMN_COUNT; i++) {
        ZSTD_EndDirective directive = ZSTD_e_continue;
        n_open += columns->n_bytes[i];
        if (i == COLUMN_COUNT - 1)
            directive = ZSTD_e_end;
        else if (n_open >= BLOCK_MIN_BYTES)
            directive = ZSTD_e_flush;
        if (directive == ZSTD_e_flush)
            n_open = 0;
        if (!compress_part(pack, columns->bytes[i], columns->n_bytes[i], directive, out))
            return false;
    }
    return true;
}

static bool put_columns(struct pack *pack, const struct pack_settings *settings,
                        struct log_frame *frame, const void *bytes, uint8_t *out)
{
    ZSTD_outBuffer buffer = {out + sizeof(*frame), frame->raw_bytes, 0};
    uint8_t header[COLUMNS_HEADER_BYTES];
    uint8_t *end = header;
    size_t n_total = 0;

    for (int i = 0; i < COLUMN_COUNT; i++)
        pack->columns.bytes[i] = pack->columns_bytes[i];
    if (!columns_encode(&pack->columns, bytes, frame->raw_bytes / sizeof(uint64_t),
                        frame->segment.base_ticks, settings->time_shift))
        return false;
    *end++ = (uint8_t)settings->time_shift;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        end = varint_put(end, pack->columns.n_bytes[i]);
        n_total += pack->columns.n_bytes[i];
    }

    begin_frame(pack, settings);
    ZSTD_CCtx_setPledgedSrcSize(pack->compressor, n_total + (size_t)(end - header));
    if (!compress_part(pack, header, (size_t)(end - header), ZSTD_e_continue, &buffer)
        || !compress_columns(pack, &buffer))
        return false;
    frame->codec = LOG_CODEC_COLUMNS;
    frame->n_events = pack->columns.n_events;
    frame->payload_bytes = (uint32_t)buffer.pos;
    frame->segment.base_ticks &= ~((1ull << settings->time_shift) - 1);
    return true;
}

static uint64_t count_side_records(const struct log_side_record *records, size_t n)
{
    uint64_t n_valid = 0;

    for (size_t i = 0; i < n; i++)
        n_valid += records[i].valid == LOG_SIDE_VALID;
    return n_valid;
}

uint64_t pack_count_events(const uint64_t *words, size_t n_words)
{
    uint64_t n_events = 0;
    size_t n;

    for (size_t i = 0; i < n_words; i += n) {
        n = log_event_words(words[i] & 255);
        if (n == 0 && n_words - i > 2)
            n = words[i + 2] & 0xffff;
        if (n == 0 || n > n_words - i)
            break;
        n_events++;
    }
    return n_events;
}

size_t pack_segment(struct pack *pack, const struct pack_settings *settings,
                    const struct log_segment *segment, const void *payload, uint32_t first_byte,
                    uint32_t n_bytes, uint8_t *out)
{
    struct log_frame frame = {.kind = LOG_FRAME_SEGMENT,
                              .raw_bytes = n_bytes,
                              .first_byte = first_byte,
                              .run_id = segment->run_id};

    memcpy(&frame.segment, segment, sizeof(*segment));
    if (segment->kind == LOG_SEGMENT_EVENTS && settings->zstd_level > 0 && n_bytes % 8 == 0
        && put_columns(pack, settings, &frame, payload, out))
        return seal_frame(&frame, out);
    if (segment->kind == LOG_SEGMENT_EVENTS)
        frame.n_events = pack_count_events(payload, n_bytes / sizeof(uint64_t));
    else if (segment->kind == LOG_SEGMENT_SIDE)
        frame.n_events = count_side_records(payload, n_bytes / sizeof(struct log_side_record));
    put_plain(pack, settings, &frame, payload, out);
    return seal_frame(&frame, out);
}

size_t pack_bytes(struct pack *pack, const struct pack_settings *settings, enum log_frame_kind kind,
                  uint64_t run_id, const void *bytes, uint32_t n_bytes, uint8_t *out)
{
    struct log_frame frame = {.kind = (uint16_t)kind, .raw_bytes = n_bytes, .run_id = run_id};

    put_plain(pack, settings, &frame, bytes, out);
    return seal_frame(&frame, out);
}

static bool is_sound(const struct log_frame *frame)
{
    uint32_t limit =
        frame->kind == LOG_FRAME_SEGMENT ? LOG_SEGMENT_PAYLOAD_BYTES : PACK_PAYLOAD_MAX_BYTES;

    if (frame->raw_bytes > limit || frame->payload_bytes > PACK_PAYLOAD_MAX_BYTES)
        return false;
    if (frame->first_byte > limit - frame->raw_bytes)
        return false;
    if (frame->codec == LOG_CODEC_STORED && frame->payload_bytes != frame->raw_bytes)
        return false;
    return frame->codec != LOG_CODEC_COLUMNS
           || (frame->kind == LOG_FRAME_SEGMENT && frame->segment.kind == LOG_SEGMENT_EVENTS
               && frame->raw_bytes % 8 == 0);
}

int pack_check_header(const struct log_frame *frame, int64_t offset, struct error *err)
{
    if (frame->magic != LOG_FRAME_MAGIC)
        return error_set_offset(err, ERROR_FORMAT, offset, "no frame of a packed log");
    if (frame->header_checksum != header_checksum(frame) || !is_sound(frame))
        return error_set_offset(err, ERROR_FORMAT, offset, "damaged frame header");
    return 0;
}

size_t pack_frame_bytes(const struct log_frame *frame)
{
    return sizeof(*frame) + frame->payload_bytes + padding_bytes(frame->payload_bytes);
}

/* Sets bytes and n_bytes of the columns within pack->decoded; false if they do not fit in it. */
static bool find_columns(struct pack *pack, size_t n_decoded, unsigned *ret_time_shift)
{
    struct columns *columns = &pack->columns;
    const uint8_t *end = pack->decoded + n_decoded;
    const uint8_t *in = pack->decoded;
    uint8_t *bytes;

    if (n_decoded == 0)
        return false;
    *ret_time_shift = *in++;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        uint64_t n;
        in = varint_get(in, end, &n);
        if (!in || n > COLUMN_BYTES)
            return false;
        columns->n_bytes[i] = (size_t)n;
    }
    bytes = pack->decoded + (in - pack->decoded);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (columns->n_bytes[i] > (size_t)(end - bytes))
            return false;
        columns->bytes[i] = bytes;
        bytes += columns->n_bytes[i];
    }
    return bytes == end;
}

static bool unpack_columns(struct pack *pack, const struct log_frame *frame, const void *payload,
                           void *out)
{
    unsigned time_shift;
    size_t n = ZSTD_decompressDCtx(pack->decompressor, pack->decoded, sizeof(pack->decoded),
                                   payload, frame->payload_bytes);

    return !ZSTD_isError(n) && find_columns(pack, n, &time_shift)
           && columns_decode(&pack->columns, out, frame->raw_bytes / sizeof(uint64_t),
                             frame->segment.base_ticks, time_shift);
}

static bool unpack_zstd(struct pack *pack, const struct log_frame *frame, const void *payload,
                        void *out)
{
    return ZSTD_decompressDCtx(pack->decompressor, out, frame->raw_bytes, payload,
                               frame->payload_bytes)
           == frame->raw_bytes;
}

int pack_unpack(struct pack *pack, const struct log_frame *frame, const void *payload,
                int64_t offset, void *out, struct error *err)
{
    bool is_good = true;

    if (XXH64(payload, frame->payload_bytes, 0) != frame->payload_checksum)
        return error_set_offset(err, ERROR_FORMAT, offset, "frame with a wrong checksum");
    switch (frame->codec) {
    case LOG_CODEC_STORED:
        memcpy(out, payload, frame->raw_bytes);
        break;
    case LOG_CODEC_ZSTD:
        is_good = unpack_zstd(pack, frame, payload, out);
        break;
    case LOG_CODEC_COLUMNS:
        is_good = unpack_columns(pack, frame, payload, out);
        break;
    default:
        return error_set_offset(err, ERROR_VERSION, offset,
                                "frame with unknown codec %u; a newer mtrace may read it",
                                frame->codec);
    }
    return is_good ? 0
                   : error_set_offset(err, ERROR_FORMAT, offset, "frame that cannot be decoded");
}
