/* SPDX-License-Identifier: MIT */
#include "lib/logfile/pack.h"

#include "lib/logfile/column_bytes.h"
#include "lib/logfile/columns.h"
#include "lib/logfile/node_columns.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

struct pack {
    ZSTD_CCtx *compressor;
    struct column_coder *coder;
    struct column_history event_history;
    struct column_history node_history;
    struct columns columns;
    struct node_columns node_columns;
};

struct pack *pack_new(void)
{
    struct pack *pack = calloc(1, sizeof(*pack));

    if (!pack)
        return NULL;
    pack->compressor = ZSTD_createCCtx();
    pack->coder = column_coder_new();
    if (!pack->compressor || !pack->coder) {
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
    column_coder_free(pack->coder);
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

/* Completes the frame around a payload in place after the header; returns the bytes of the
 * frame. */
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

/* Stored or compressed by zstd, whichever is shorter. */
static void put_plain(struct pack *pack, const struct pack_settings *settings,
                      struct log_frame *frame, const void *bytes, uint8_t *out)
{
    uint32_t n_bytes = frame->raw_bytes;
    size_t n = 0;

    if (settings->zstd_level > 0 && n_bytes > 0) {
        ZSTD_CCtx_reset(pack->compressor, ZSTD_reset_session_only);
        ZSTD_CCtx_setParameter(pack->compressor, ZSTD_c_compressionLevel, settings->zstd_level);
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

static bool put_columns(struct pack *pack, const struct pack_settings *settings,
                        struct log_frame *frame, const void *bytes, uint8_t *out)
{
    if (!columns_encode(&pack->columns, bytes, frame->raw_bytes / sizeof(uint64_t),
                        frame->segment.base_ticks, settings->time_shift))
        return false;
    frame->codec = LOG_CODEC_COLUMNS;
    frame->n_events = pack->columns.n_events;
    frame->payload_bytes =
        (uint32_t)column_bytes_put(pack->coder, &pack->event_history, settings->time_shift,
                                   &pack->columns.encoded, out + sizeof(*frame), frame->raw_bytes);
    if (frame->payload_bytes == 0)
        return false;
    frame->segment.base_ticks &= ~((1ull << settings->time_shift) - 1);
    return true;
}

static uint32_t first_node(const struct log_frame *frame)
{
    return frame->segment.first_node + frame->first_byte / (uint32_t)sizeof(struct log_node);
}

static bool put_nodes(struct pack *pack, struct log_frame *frame, const void *bytes, uint8_t *out)
{
    node_columns_encode(&pack->node_columns, bytes, frame->raw_bytes / sizeof(struct log_node),
                        first_node(frame));
    frame->codec = LOG_CODEC_NODES;
    frame->payload_bytes =
        (uint32_t)column_bytes_put(pack->coder, &pack->node_history, 0, &pack->node_columns.encoded,
                                   out + sizeof(*frame), frame->raw_bytes);
    return frame->payload_bytes > 0;
}

static uint64_t count_fallback_records(const struct log_fallback_record *records, size_t n)
{
    uint64_t n_valid = 0;

    for (size_t i = 0; i < n; i++)
        n_valid += records[i].valid == LOG_FALLBACK_VALID;
    return n_valid;
}

/* Words of the event there; 0: the rest cannot be walked. */
static size_t event_words(const uint64_t *words, size_t n_left)
{
    size_t n = log_event_words(words[0] & 255);

    if (n == 0 && n_left > 2)
        n = words[2] & 0xffff;
    return n <= n_left ? n : 0;
}

uint64_t pack_count_events(const uint64_t *words, size_t n_words)
{
    uint64_t n_events = 0;
    size_t n;

    for (size_t i = 0; i < n_words; i += n) {
        n = event_words(words + i, n_words - i);
        if (n == 0)
            break;
        n_events += !log_event_is_bookkeeping(words[i] & 255);
    }
    return n_events;
}

static bool is_allocation(uint64_t word)
{
    switch (word & 255) {
    case LOG_ALLOC:
    case LOG_ALLOC_WIDE:
    case LOG_REALLOC:
    case LOG_REALLOC_WIDE:
        return true;
    default:
        return false;
    }
}

bool pack_has_allocations(const struct log_segment *segment, const void *payload, uint32_t n_bytes)
{
    const struct log_fallback_record *records = payload;
    const uint64_t *words = payload;
    size_t n;

    if (segment->kind == LOG_SEGMENT_FALLBACK) {
        for (size_t i = 0; i < n_bytes / sizeof(*records); i++)
            if (records[i].valid == LOG_FALLBACK_VALID && is_allocation(records[i].words[0]))
                return true;
        return false;
    }
    for (size_t i = 0; i < n_bytes / sizeof(*words); i += n) {
        n = event_words(words + i, n_bytes / sizeof(*words) - i);
        if (n == 0 || is_allocation(words[i]))
            return n != 0;
    }
    return false;
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
    if (segment->kind == LOG_SEGMENT_NODES && settings->zstd_level > 0
        && n_bytes % sizeof(struct log_node) == 0 && put_nodes(pack, &frame, payload, out))
        return seal_frame(&frame, out);
    if (segment->kind == LOG_SEGMENT_EVENTS)
        frame.n_events = pack_count_events(payload, n_bytes / sizeof(uint64_t));
    else if (segment->kind == LOG_SEGMENT_FALLBACK)
        frame.n_events =
            count_fallback_records(payload, n_bytes / sizeof(struct log_fallback_record));
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
    if (frame->codec != LOG_CODEC_COLUMNS && frame->codec != LOG_CODEC_NODES)
        return true;
    if (frame->kind != LOG_FRAME_SEGMENT || frame->payload_bytes == 0)
        return false;
    return frame->codec == LOG_CODEC_COLUMNS
               ? frame->segment.kind == LOG_SEGMENT_EVENTS
                     && frame->raw_bytes % sizeof(uint64_t) == 0
               : frame->segment.kind == LOG_SEGMENT_NODES
                     && frame->raw_bytes % sizeof(struct log_node) == 0;
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

static bool unpack_columns(struct pack *pack, const struct log_frame *frame, const void *payload,
                           void *out)
{
    struct column_bytes columns;
    unsigned time_shift;

    return column_bytes_get(pack->coder, payload, frame->payload_bytes, &time_shift, &columns)
           && columns_decode(&pack->columns.predictor, &columns, out,
                             frame->raw_bytes / sizeof(uint64_t), frame->segment.base_ticks,
                             time_shift);
}

static bool unpack_nodes(struct pack *pack, const struct log_frame *frame, const void *payload,
                         void *out)
{
    struct column_bytes columns;
    unsigned unused;

    return column_bytes_get(pack->coder, payload, frame->payload_bytes, &unused, &columns)
           && node_columns_decode(&pack->node_columns, &columns, out,
                                  frame->raw_bytes / sizeof(struct log_node), first_node(frame));
}

static bool unpack_zstd(struct pack *pack, const struct log_frame *frame, const void *payload,
                        void *out)
{
    return column_coder_expand(pack->coder, out, frame->raw_bytes, payload, frame->payload_bytes)
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
    case LOG_CODEC_NODES:
        is_good = unpack_nodes(pack, frame, payload, out);
        break;
    default:
        return error_set_offset(err, ERROR_VERSION, offset,
                                "frame with unknown codec %u; a newer mtrace may read it",
                                frame->codec);
    }
    return is_good ? 0
                   : error_set_offset(err, ERROR_FORMAT, offset, "frame that cannot be decoded");
}
