/* SPDX-License-Identifier: MIT */
/*
 * frame_index: the frames of a packed log, found and checked, in the order of the file.
 *
 * Model:   the file is mapped; an entry per frame whose header and payload checksums hold. Behind
 *          damage the search goes on at the next multiple of 8 bytes that has a sound header.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_FRAME_INDEX_H
#define MTRACE_RECORDER_FRAME_INDEX_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct frame_index {
    const uint8_t *bytes; /* the mapped file */
    size_t n_bytes;
    size_t *offsets; /* of sound frames */
    size_t n_frames;
    uint64_t
        punched_hole; /* 0, or where the first of them is: what was before is at another machine */
    size_t damaged_bytes; /* that belong to no sound frame */
};

/* Fails when `path` is no packed log. Close with frame_index_done. */
int frame_index_open(const char *path, struct frame_index *ret_index, struct error *err);
void frame_index_done(struct frame_index *index);

/* Header of frame i, 8-byte aligned; its payload follows. */
const struct log_frame *frame_index_get(const struct frame_index *index, size_t i);

/* The log's header: of the last trailer, else of the file. */
void frame_index_get_file(const struct frame_index *index, struct log_file *ret_file);

#endif
