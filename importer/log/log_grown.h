/* SPDX-License-Identifier: MIT */
/*
 * log_grown: segments of a live pool that change while the log is read.
 *
 * Model:   a recorder packs a segment of the pool, and gives its place away, at any time. What it packs may be elided (recorder/pack/elide.h): its
 *          frame amounts to the same events in other words, be they more or fewer.
 *
 *              listed while it was filled --> copied at once: some of it only was there
 *              listed when it was sealed ---> read where it is; or, once its place was given away, the whole of its frame
 *
 * Invariants
 *   GR-1 What is read of a segment is either what its program wrote or its frame, never a part of the one by the length of the other.
 *   GR-2 From the first time that a segment was read as a frame on, its entry in the list is that of the frame.
 *   GR-3 What was stamped before watermark_ticks, as it was before the pool was listed, stands in the same words at the beginning of a segment that was listed
 *        in the pool and of its frame: who has read so far may go on in either. (log_packing.watermark_ticks, PG-5)
 * Threads: as log_input.h says.
 */
#ifndef MTRACE_IMPORTER_LOG_GROWN_H
#define MTRACE_IMPORTER_LOG_GROWN_H

#include "importer/log/log_input_parts.h"

/* Before the pool `file` is listed: what holds of all that is listed then. *ret_sequence is the number that the next segment gets which the program
 * begins; 0: it is not told. */
int log_grown_begin(struct log_input *input, struct log_file_reader *file, uint64_t *ret_sequence,
                    struct error *err);

/* Behind the list. */
int log_grown_end(struct log_input *input, struct log_file_reader *file, struct error *err);

/* Copies those of the list that were being filled. */
int log_grown_copy(struct log_input *input, struct log_segment_list *list, struct pack *pack,
                   struct error *err);

/* Makes that what is listed of the pool can be read, though all files that are not open yet go: as much of it as LOG_GROWN_HELD segments. */
int log_grown_hold(struct log_input *input, struct pack *pack, struct error *err);

/* Of an entry that has a copy. */
int log_grown_read_copy(const struct log_input *input, size_t index, void *payload);

/* Of a segment whose place was given away since it was listed. ERROR_FORMAT: not found. */
int log_grown_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   struct error *err);

void log_grown_done(struct log_input *input);

enum {
    LOG_GROWN_HELD = 1024 /* 64 MiB: eight times what a pool has while its recorder keeps up */
};

#endif
