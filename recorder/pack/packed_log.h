/* SPDX-License-Identifier: MIT */
/*
 * packed_log: the file that a recording produces, written frame by frame.
 *
 * A header page is followed by frames, each appended with one write. A frame counts only if it was
 * written completely; after a failed write (disk full) the next one goes to the same place.
 *
 * With `rotates` the file itself has only the header page and LOG_ROTATED_MAGIC. The frames are in
 * LOG.gN (log_rotation.h), each of which begins with the header page and the offset of its first
 * frame (LOG_ROTATED_BEGIN_AT). Offsets count as if the frames followed each other in one file.
 *
 * Invariants
 *   PL-1 Below end_offset there are only complete frames.
 *   PL-2 The file is new and locked (writer_liveness.h) until packed_log_close; an existing file is
 *        never opened for writing.
 *
 * Notes: `force` replaces a log, and no other kind of file. If the lock is not available, it is
 * tried again with each write.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_PACKED_LOG_H
#define MTRACE_RECORDER_PACKED_LOG_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packed_log {
    char *path; /* owned */
    int64_t end_offset;
    int fd;
    bool is_failing;      /* the last write failed */
    bool is_locked;       /* or cannot be locked */
    bool is_full;         /* the last frame would have exceeded max_bytes */
    uint32_t added_flags; /* LOG_FLAG_* for its header */
    uint64_t max_bytes;   /* on the disk; 0: no limit */
    bool rotates;
    uint32_t n_rotated;         /* number of the current rotated file; 0: none yet */
    struct packed_log *rotated; /* that file; owned */
    int64_t begin;              /* of a rotated file: offset of its first frame */
    uint64_t there_bytes;       /* of the rotated files, at most */
};

/* False: an empty or partial header of ours; then everything is in the live log. True: any other
 * file. */
bool packed_log_is_begun(const char *path);

/* Fails with ERROR_EXISTS if `path` cannot be created, or with force replaced. */
int packed_log_check_target(const char *path, bool force, struct error *err);

/* Creates `path`; ERROR_EXISTS if it exists, unless force replaces it. */
int packed_log_create(const char *path, bool force, struct packed_log *ret_log, struct error *err);

/* (Over)writes the header page: *file with form packed. */
int packed_log_write_header(struct packed_log *log, const struct log_header *file,
                            struct error *err);

/* Appends a frame. On failure nothing was appended, and the same frame may be tried again. */
int packed_log_append(struct packed_log *log, const void *frame, size_t n_bytes, struct error *err);

/* Truncates the file to end_offset after a failed write, and closes it. The file stays. Takes an
 * all-zero log with fd -1. */
void packed_log_close(struct packed_log *log);

/* Renames the file within its folder and replaces an existing file; its readers keep the old
 * one. */
int packed_log_rename(struct packed_log *log, const char *path, struct error *err);

/* Opens a log with `rotates` to append to its rotated file `n_rotated`, which begins at `begin` and
 * ends at `end` (of frames); 0: there is none. */
int packed_log_resume(const char *path, uint32_t n_rotated, int64_t begin, int64_t end,
                      struct packed_log *ret_log, struct error *err);

void packed_log_remove(const struct packed_log *log);

#endif
