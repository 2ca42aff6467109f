/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a frame: unpacking gives an error or a payload within its bounds, and what came out
 * as events packs and unpacks to the same again, and its times are rounded once.
 *
 * Input: byte 0 codec, byte 1 kind of segment, bytes 2-3 raw length in words, bytes 4-5 how much of
 * the payload that follows is stored as it is; the rest goes through zstd. Checksums and
 * compression are done here: a fuzzer would never get past them.
 */
#include "lib/logfile/pack.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    HEAD_BYTES = 6,
    N_CODECS = 5, /* with one that does not exist */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complete(struct log_frame *frame, const uint8_t *payload)
{
    frame->magic = LOG_FRAME_MAGIC;
    frame->payload_checksum = XXH64(payload, frame->payload_bytes, 0);
    frame->header_checksum = 0;
    frame->header_checksum = (uint32_t)XXH64(frame, sizeof(*frame), 0);
}

static void repack(struct pack *pack, const struct log_frame *frame, const uint64_t *words,
                   unsigned time_shift, uint64_t *ret_words)
{
    static uint8_t out[PACK_SEGMENT_MAX_BYTES];
    const struct pack_settings settings = {.zstd_level = 1, .time_shift = time_shift};
    struct log_frame second;

    pack_segment(pack, &settings, &frame->segment, words, frame->first_byte, frame->raw_bytes, out);
    memcpy(&second, out, sizeof(second));
    if (pack_check_header(&second, 0, NULL)
        || pack_unpack(pack, &second, out + sizeof(second), 0, ret_words, NULL))
        abort();
}

/* Words come back; rounded times stay as they are when they are rounded again. */
static void check(struct pack *pack, const struct log_frame *frame, const uint64_t *words)
{
    static uint64_t same[LOG_SEGMENT_PAYLOAD_BYTES / 8];
    static uint64_t rounded[LOG_SEGMENT_PAYLOAD_BYTES / 8];
    const unsigned time_shift = 1 + frame->raw_bytes / 8 % 8;

    repack(pack, frame, words, 0, same);
    if (memcmp(words, same, frame->raw_bytes) != 0)
        abort();
    repack(pack, frame, words, time_shift, rounded);
    repack(pack, frame, rounded, time_shift, same);
    if (memcmp(rounded, same, frame->raw_bytes) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pack *pack;
    static uint8_t payload[PACK_PAYLOAD_MAX_BYTES];
    static uint64_t words[LOG_SEGMENT_PAYLOAD_BYTES / 8];
    struct log_frame frame = {.kind = LOG_FRAME_SEGMENT};
    size_t n;

    if (!pack)
        pack = pack_new();
    if (!pack || size < HEAD_BYTES || size > PACK_PAYLOAD_MAX_BYTES / 2)
        return 0;
    frame.codec = data[0] % N_CODECS;
    frame.segment.kind = data[1] % 5;
    frame.raw_bytes = (uint32_t)(data[2] | data[3] << 8) * 8;
    n = (size_t)(data[4] | data[5] << 8);
    if (n > size - HEAD_BYTES || frame.codec == LOG_CODEC_STORED)
        n = size - HEAD_BYTES;
    memcpy(payload, data + HEAD_BYTES, n);
    if (HEAD_BYTES + n < size)
        n += ZSTD_compress(payload + n, sizeof(payload) - n, data + HEAD_BYTES + n,
                           size - HEAD_BYTES - n, 1);
    frame.payload_bytes = (uint32_t)n;
    complete(&frame, payload);
    if (pack_check_header(&frame, 0, NULL))
        return 0;
    if (pack_unpack(pack, &frame, payload, 0, words, NULL) == 0)
        check(pack, &frame, words);
    return 0;
}
