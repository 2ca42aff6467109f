/* SPDX-License-Identifier: MIT */
/*
 * live_log: a raw log from the recorder's side: the pool it makes for the program, or the log that
 * a child made for itself, while the program writes into it.
 *
 * Model:   one shared mapping of the whole file, enlarged when the program adds segments. Whatever
 *          is read may have been overwritten by the program: every index, length and link is
 *          checked before use.
 * Invariants
 *   LL-1 Segments 0 .. n_mapped-1 are mapped; n_mapped only grows. Pointers to segments die with
 *        live_log_refresh.
 *   LL-2 The file is never truncated or punched while it is mapped: the program would get SIGBUS.
 *   LL-3 A segment is put on the free stack only after its frame is in the packed file.
 *   LL-4 Segments below n_segments have their space, as segment.h says (SG-4): to touch a hole on a
 *        full tmpfs would be SIGBUS.
 * Threads: one here; the program's threads on the other side, by the atomics of log_format.h.
 */
#ifndef MTRACE_RECORDER_LIVE_LOG_H
#define MTRACE_RECORDER_LIVE_LOG_H

#include "common/log_format.h"
#include "support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* 8 MiB: what a program allocating as fast as it can writes while we wait for a processor for
     * some 20 ms. An exhausted pool costs the program fresh pages of the file. */
    LIVE_LOG_POOL_SEGMENTS = 128,
    LIVE_LOG_FIRST_SEGMENTS = 12, /* of those that a new pool has on its free stack at once */
};

struct live_log {
    char *path; /* where the file is; owned */
    char
        *link_path; /* OUT.live, a link to path, when the file had to go elsewhere; owned or NULL */
    struct log_file *file;
    size_t mapped_bytes;
    uint32_t n_mapped;
    uint32_t n_unprepared; /* segments 0 .. n-1 of our pool were never on the free stack */
    int fd;
};

/*
 * Makes the pool `path` with its space reserved and some segments on the free stack; see
 * live_log_prepare. When the
 * directory has no shared mappings it goes to /dev/shm, with LOG_FLAG_WEAK and a link at `path`.
 * The file must not exist. Close with live_log_close.
 */
int live_log_create(const char *path, uint64_t run_id, uint32_t n_segments,
                    struct live_log *ret_log, struct error *err);

/* Maps an existing raw log: shared with the program that writes it, or a private view of a file
 * that stays as it is. */
int live_log_open(const char *path, bool is_shared, struct live_log *ret_log, struct error *err);

/* Unmaps and closes; the file stays. An all-zero log with fd -1 may be closed. */
void live_log_close(struct live_log *log);

/* Deletes the file and its link. */
void live_log_remove(const struct live_log *log);

/* Maps what the program added; false when that failed (the old mapping stays). */
bool live_log_refresh(struct live_log *log);

/* A segment below n_mapped. */
struct log_segment *live_log_segment(const struct live_log *log, uint32_t index);

/* Its payload, LOG_SEGMENT_PAYLOAD_BYTES long. */
const void *live_log_payload(const struct log_segment *segment);

/* Payload bytes of a segment that a reader may look at now; see LF-1 and the kinds. */
uint32_t live_log_readable_bytes(const struct log_segment *segment);

/* Does the segment hold something of this log? */
bool live_log_is_used(const struct live_log *log, const struct log_segment *segment);

/* The first segment from `from` on that holds something, n_mapped when none does. */
uint32_t live_log_next_used(const struct live_log *log, uint32_t from);

/* Takes all sealed segments off their stack; indexes into ret_indexes, which holds n_mapped.
 * Returns how many. */
uint32_t live_log_take_sealed(struct live_log *log, uint32_t *ret_indexes);

/* Puts up to n more segments of a new pool on the free stack. Each costs a fresh page of the file,
 * so that a program of a millisecond should not wait for all. */
void live_log_prepare(struct live_log *log, uint32_t n);

/* Gives a packed segment back to the program (LL-3). */
void live_log_recycle(struct live_log *log, uint32_t index);

/* A consistent copy of the header. */
void live_log_copy_header(const struct live_log *log, struct log_file *ret_file);

#endif
