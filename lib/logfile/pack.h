/* SPDX-License-Identifier: MIT */
/*
 * pack: segments of a raw log into frames of a packed one, and back.
 *
 * Model:   a frame is struct log_frame, its payload, and zeros up to a multiple of 8 bytes. Packing
 *          writes all three into the caller's buffer, ready for one write. Unpacking is two steps,
 *          because a reader has the header before it knows how much payload to read.
 * Invariants
 *   PK-1 Unpacking gives the packed bytes again; of EVENTS with LOG_CODEC_COLUMNS every time is
 *        rounded down to a multiple of 1 << time_shift ticks, and frame.segment.base_ticks is the
 *        base so rounded.
 *   PK-2 Nothing read from a frame is trusted: any bytes give either an error or a payload within
 *        the caller's buffer. Whether the payload makes sense is its reader's question.
 *   PK-3 Frames are independent of each other (LF-3).
 * Threads: one per struct pack.
 * Failure: packing cannot fail but for a bug: what one codec refuses a simpler one takes.
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
    int zstd_level;      /* 0: store, no compression and no columns */
    unsigned time_shift; /* EVENTS: see PK-1; at most 12 */
};

/* A workspace for both directions; NULL without memory. Free with pack_free, which takes NULL. */
struct pack *pack_new(void);
void pack_free(struct pack *pack);

/*
 * Packs n_bytes of a segment's payload from first_byte on (EVENTS and SIDE: all that is committed,
 * from 0). `payload` is the payload from first_byte on, 8-byte aligned; it must not change
 * meanwhile. `out` has PACK_SEGMENT_MAX_BYTES. Returns the bytes of the whole frame.
 */
size_t pack_segment(struct pack *pack, const struct pack_settings *settings,
                    const struct log_segment *segment, const void *payload, uint32_t first_byte,
                    uint32_t n_bytes, uint8_t *out);

/* Packs what is not a segment: samples, the trailer. n_bytes <= PACK_PAYLOAD_MAX_BYTES; `out` has
 * n_bytes + PACK_FRAME_OVERHEAD. */
size_t pack_bytes(struct pack *pack, const struct pack_settings *settings, enum log_frame_kind kind,
                  uint64_t run_id, const void *bytes, uint32_t n_bytes, uint8_t *out);

/* Is this a sound frame header? Its place in the file is for the error's text only. */
int pack_check_header(const struct log_frame *frame, int64_t offset, struct error *err);

/* Bytes of the whole frame in the file, padding included. The header must have been checked. */
size_t pack_frame_bytes(const struct log_frame *frame);

/*
 * Checks and decodes the payload of a checked header into `out`, 8-byte aligned and at least
 * frame->raw_bytes long; writes exactly so many bytes.
 */
int pack_unpack(struct pack *pack, const struct log_frame *frame, const void *payload,
                int64_t offset, void *out, struct error *err);

/* Events of an EVENTS payload, without bookkeeping; what cannot be walked is not counted. */
uint64_t pack_count_events(const uint64_t *words, size_t n_words);

/* Does the payload of an EVENTS or SIDE segment have an allocation? A resized block is one. */
bool pack_has_allocations(const struct log_segment *segment, const void *payload, uint32_t n_bytes);

#endif
