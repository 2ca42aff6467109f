/* SPDX-License-Identifier: MIT */
/*
 * packed_log: the file that a recording leaves behind, written frame by frame.
 *
 * Model:   header page, then frames appended each with one write. A frame counts as written only
 *          when all of it is; after a failed write (disk full) the next one goes to the same place.
 * Invariants
 *   PL-1 Everything below end_offset is whole frames.
 *   PL-2 The file was made by us, under a lock (file_lock.h) that is held until packed_log_close, and is tried with each write where it was not
 *        got; an existing file is never opened for writing; `force` replaces a log, and nothing else.
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
    bool is_locked;       /* or cannot be */
    bool is_full;         /* the last frame would have gone beyond max_bytes */
    uint32_t added_flags; /* LOG_FLAG_*, of its header */
    uint64_t max_bytes;   /* that it may take on the disk; 0: any */
};

/* Is there more of it than that it was made: a header, or another's file? All of a log that had no room for its header is in the live one. */
bool packed_log_is_begun(const char *path);

/* May `path` be made, or with force replaced? ERROR_EXISTS: no. */
int packed_log_check_target(const char *path, bool force, struct error *err);

/* Makes `path`; ERROR_EXISTS when it is there, unless force replaces it. */
int packed_log_create(const char *path, bool force, struct packed_log *ret_log, struct error *err);

/* (Over)writes the header page: *file with form packed. */
int packed_log_write_header(struct packed_log *log, const struct log_file *file, struct error *err);

/* Appends a whole frame. On failure nothing was appended and the same frame may be tried again. */
int packed_log_append(struct packed_log *log, const void *frame, size_t n_bytes, struct error *err);

/* Cuts what a failed write may have left behind end_offset, and closes. The file stays. An all-zero
 * log with fd -1 may be closed. */
void packed_log_close(struct packed_log *log);

/* Gives the file another name in the same folder; what had it is gone, though whoever reads it keeps it. */
int packed_log_rename(struct packed_log *log, const char *path, struct error *err);

/* What comes next is written behind `until`; of what is before there is a mark alone (lib/process/punched_hole.h). */
int packed_log_skip(struct packed_log *log, uint64_t until, struct error *err);

/* Deletes the file. */
void packed_log_remove(const struct packed_log *log);

#endif
