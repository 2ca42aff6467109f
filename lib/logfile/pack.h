/* SPDX-License-Identifier: MIT */
/*
 * pack: packs segments of a raw log into frames of a packed log, and unpacks them.
 *
 * A frame is struct log_frame, its payload, and zeros up to a multiple of 8 bytes. Packing writes
 * all three into the caller's buffer, ready for one write. Unpacking has two steps, because a
 * reader needs the header to know the size of the payload.
 *
 * Invariants
 *   PK-1 Unpacking returns the packed bytes. With LOG_CODEC_COLUMNS every time of EVENTS is rounded
 *        down to a multiple of 1 << time_shift ticks, and frame.segment.base_ticks is the rounded
 *        base.
 *   PK-2 Frames are untrusted: any bytes give either an error or a payload within the caller's
 *        buffer. Its reader checks whether the payload makes sense.
 *   PK-3 Frames are independent of each other (LF-3).
 *
 * One thread per struct pack. Packing fails only by a bug: a simpler codec takes what one refuses.
 */
#ifndef MTRACE_LIB_PACK_H
#define MTRACE_LIB_PACK_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PACK_FRAME_ALIGN = 8,
    /* a frame of n payload bytes is at most this long: stored as it is, with padding */
    PACK_FRAME_OVERHEAD = sizeof(struct log_frame) + PACK_FRAME_ALIGN,
    PACK_SEGMENT_MAX_BYTES = LOG_SEGMENT_PAYLOAD_BYTES + PACK_FRAME_OVERHEAD,
    PACK_SAMPLES_MAX = 1024,                    /* of one frame */
    PACK_PAYLOAD_MAX_BYTES = LOG_SEGMENT_BYTES, /* any frame, stored or decoded */
};

struct pack;

struct pack_settings {
    int zstd_level;      /* 0: store, without compression and columns */
    unsigned time_shift; /* EVENTS: see PK-1; at most 12 */
};

/* A workspace for both directions; NULL without memory. Free with pack_free, which takes NULL. */
struct pack *pack_new(void);
void pack_free(struct pack *pack);

/*
 * Packs n_bytes of a segment's payload from first_byte on (EVENTS and FALLBACK: all that is
 * committed, from 0). `payload` begins at first_byte, is 8-byte aligned, and must not change during
 * the call. `out` has PACK_SEGMENT_MAX_BYTES. Returns the bytes of the whole frame.
 */
size_t pack_segment(struct pack *pack, const struct pack_settings *settings,
                    const struct log_segment *segment, const void *payload, uint32_t first_byte,
                    uint32_t n_bytes, uint8_t *out);

/* Packs samples or the trailer. n_bytes <= PACK_PAYLOAD_MAX_BYTES; `out` has n_bytes +
 * PACK_FRAME_OVERHEAD. */
size_t pack_bytes(struct pack *pack, const struct pack_settings *settings, enum log_frame_kind kind,
                  uint64_t run_id, const void *bytes, uint32_t n_bytes, uint8_t *out);

/* Checks a frame header. Its offset in the file is used in the message only. */
int pack_check_header(const struct log_frame *frame, int64_t offset, struct error *err);

/* Bytes of the whole frame in the file, padding included. The header must have been checked. */
size_t pack_frame_bytes(const struct log_frame *frame);

/*
 * Checks and decodes the payload of a checked header into `out`, 8-byte aligned and at least
 * frame->raw_bytes long; writes exactly frame->raw_bytes.
 */
int pack_unpack(struct pack *pack, const struct log_frame *frame, const void *payload,
                int64_t offset, void *out, struct error *err);

/* Counts events of an EVENTS payload, without bookkeeping events and up to damaged ones. */
uint64_t pack_count_events(const uint64_t *words, size_t n_words);

/* Does the payload of an EVENTS or FALLBACK segment have an allocation? A realloc counts. */
bool pack_has_allocations(const struct log_segment *segment, const void *payload, uint32_t n_bytes);

#endif
