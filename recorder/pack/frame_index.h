/* SPDX-License-Identifier: MIT */
/*
 * frame_index: the frames of a packed log, found and checked, in file order.
 *
 * The file is mapped. There is an entry for each frame whose header and payload checksums are
 * valid. After damage the search continues at the next multiple of 8 bytes that has a valid header.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_FRAME_INDEX_H
#define MTRACE_RECORDER_FRAME_INDEX_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_index {
    const uint8_t *bytes; /* the mapped file */
    size_t n_bytes;
    size_t *offsets; /* of valid frames */
    size_t n_frames;
    size_t damaged_bytes; /* outside of valid frames */
    bool is_rotated;      /* the frames are in rotated files (packed_log.h) */
};

/* Fails if `path` is not a packed log. Close with frame_index_done. */
int frame_index_open(const char *path, struct frame_index *ret_index, struct error *err);
void frame_index_done(struct frame_index *index);

/* Header of frame i, 8-byte aligned; its payload follows. */
const struct log_frame *frame_index_get(const struct frame_index *index, size_t i);

/* The log's header: from the last trailer, else from the file. */
void frame_index_get_file(const struct frame_index *index, struct log_header *ret_file);

#endif
