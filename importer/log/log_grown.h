/* SPDX-License-Identifier: MIT */
/*
 * log_grown: reads segments of a live pool that change while the log is read.
 *
 * At any time a recorder may pack a segment of the pool and recycle it. It may also elide events
 * (recorder/pack/elide.h): the frame then has other records, more or fewer, that add up to the
 * same.
 *
 *     listed while it was filled --> copied immediately: only part of it existed
 *     listed when it was sealed ---> read in place or, after it was recycled, its whole frame
 *
 * Invariants
 *   GR-1 A segment is read either as the program wrote it or as its frame, never a mixture.
 *   GR-2 After a segment was read as a frame, its list entry is that of the frame.
 *   GR-3 Records stamped before watermark_ticks (read before the pool was listed) are the same
 *        words at the beginning of a listed segment and of its frame. So a reader that stopped
 *        there may continue in either. (log_packing.watermark_ticks, PG-5)
 *
 * Threads: as in log_input.h.
 */
#ifndef MTRACE_IMPORTER_LOG_GROWN_H
#define MTRACE_IMPORTER_LOG_GROWN_H

#include "importer/log/log_input_parts.h"

/* Call it before the pool `file` is listed. *ret_sequence: number of the next segment that the
 * program begins; 0: unknown. */
int log_grown_begin(struct log_input *input, struct log_file_reader *file, uint64_t *ret_sequence,
                    struct error *err);

/* Call it after the pool was listed. */
int log_grown_end(struct log_input *input, struct log_file_reader *file, struct error *err);

/* Copies the listed segments that were being filled. */
int log_grown_copy(struct log_input *input, struct log_segment_list *list, struct pack *pack,
                   struct error *err);

/* Keeps listed segments of the pool readable although files that are not open are removed: copies
 * at most LOG_GROWN_HELD segments. */
int log_grown_hold(struct log_input *input, struct pack *pack, struct error *err);

/* Reads an entry that has a copy. */
int log_grown_read_copy(const struct log_input *input, size_t index, void *payload);

/* Reads a segment that was recycled after it was listed, as its frame. ERROR_FORMAT: not found. */
int log_grown_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   struct error *err);

void log_grown_done(struct log_input *input);

enum {
    LOG_GROWN_HELD = 1024 /* 64 MiB: eight times what a pool has while its recorder keeps up */
};

#endif
