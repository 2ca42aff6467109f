/* SPDX-License-Identifier: MIT */
/*
 * live_log: a raw log as the recorder sees it while the program writes it.
 *
 * It is the live log that the recorder makes for the program, or the log that a child process made
 * for itself. One shared mapping covers the whole file; it is enlarged when the program adds
 * segments. The program may overwrite any byte at any time: every index, length and link is read
 * once and checked before use, and data that is read twice is copied first. The identity of the log
 * is remembered from its beginning.
 *
 * Invariants
 *   LL-1 Segments 0 .. n_mapped-1 are mapped; n_mapped only grows. live_log_refresh invalidates
 *        pointers to segments.
 *   LL-2 The file is never truncated or punched while it is mapped: the program would get SIGBUS.
 *   LL-3 A segment is put on the free stack only after its frame is in the packed file.
 *   LL-4 Segments below n_segments have their space (SG-4): touching a hole on a full tmpfs raises
 *        SIGBUS.
 *   LL-5 Reading ends and is safe whatever the program does to the file. It may truncate it
 *        (guarded_map.h). Nothing beyond max_segments is read, however large the file is.
 *
 * One thread here; the program's threads on the other side, through the atomics of log_format.h.
 */
#ifndef MTRACE_LIB_LIVE_LOG_H
#define MTRACE_LIB_LIVE_LOG_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "lib/base/guarded_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* 8 MiB: about what a program can write while the recorder waits 20 ms for a processor. When
     * the live log is exhausted, the program must use fresh pages of the file. */
    LIVE_LOG_POOL_SEGMENTS = 128,
    LIVE_LOG_FIRST_SEGMENTS = 12, /* on the free stack of a new live log from the start */
};

struct live_log {
    char *path; /* where the file is; owned */
    char
        *link_path; /* OUT.live, a link to path, when the file had to go elsewhere; owned or NULL */
    struct guarded_map map;
    struct log_header *file;
    struct log_header seen; /* a copy of the header, see live_log_read_header */
    bool has_begun;         /* `seen` is of a collector that began */
    uint32_t n_mapped;
    uint32_t max_segments; /* LL-5 */
    const char *weakness;  /* why it is or should be in /dev/shm; static; NULL: it is not */
    uint32_t n_unprepared; /* segments 0 .. n-1 of our live log were never on the free stack */
    int fd;
};

/*
 * Creates the live log `path` with its space reserved and some segments on the free stack (see
 * live_log_prepare). If the directory has no shared mappings, or may lose reserved space
 * (file_systems.h), the live log goes to /dev/shm, with LOG_FLAG_WEAK and a link at `path`. On a
 * full disk it has fewer than n_segments. The file must not exist. Close with live_log_close;
 * *ret_log must not move until then.
 */
int live_log_create(const char *path, uint64_t run_id, uint32_t n_segments,
                    struct live_log *ret_log, struct error *err);

/* Maps an existing raw log, also through a link as above: shared with the program that writes
 * it, or as a private view of a file that does not change. *ret_log must not move until
 * live_log_close. */
int live_log_open(const char *path, bool is_shared, struct live_log *ret_log, struct error *err);

/* The target of a link of ours to a live log in shared memory; NULL: no such link, or no memory.
 * The caller frees it. */
char *live_log_follow(const char *path);

/* Ignores segments beyond max_bytes, but never fewer than a live log has. */
void live_log_limit(struct live_log *log, uint64_t max_bytes);

/* Unmaps and closes; the file stays. An all-zero log with fd -1 may be closed. */
void live_log_close(struct live_log *log);

/* Deletes the file and its link. */
void live_log_remove(const struct live_log *log);

/* Renames the file, or its link, to `path` in the same folder and replaces a file of that name. No
 * other process knows the old name yet. */
int live_log_rename(struct live_log *log, const char *path, struct error *err);

/* Maps segments that the program added; false on failure (the old mapping stays). */
bool live_log_refresh(struct live_log *log);

/* A segment below n_mapped. */
struct log_segment *live_log_segment(const struct live_log *log, uint32_t index);

/* Its payload, LOG_SEGMENT_PAYLOAD_BYTES long. */
const void *live_log_payload(const struct log_segment *segment);

/* Payload bytes of a segment that a reader may look at now; see LF-1 and the kinds. */
uint32_t live_log_readable_bytes(const struct log_segment *segment);

/* Does the segment hold data of this log? */
bool live_log_is_used(const struct live_log *log, const struct log_segment *segment);

/* Copies the header of a segment and the readable part of its payload; ret_payload holds
 * LOG_SEGMENT_PAYLOAD_BYTES. Returns the bytes of payload; 0 if the segment has been reused
 * (`sequence`), was cut off, or is empty. */
uint32_t live_log_copy_segment(const struct live_log *log, uint32_t index, uint64_t sequence,
                               struct log_segment *ret_segment, void *ret_payload);

/* The first segment from `from` on that holds data; n_mapped if there is none. */
uint32_t live_log_next_used(const struct live_log *log, uint32_t from);

/* Takes all sealed segments off their stack and calls `see` with each index until it returns false;
 * the rest stays sealed. */
typedef bool live_log_see(void *context, uint32_t index);
void live_log_take_sealed(struct live_log *log, live_log_see *see, void *context);

/* Puts up to n more segments of a new live log on the free stack. Each costs a fresh page of the
 * file, so a program that runs for a millisecond should not wait for all. */
void live_log_prepare(struct live_log *log, uint32_t n);

/* Gives a packed segment back to the program (LL-3). */
void live_log_recycle(struct live_log *log, uint32_t index);

/* Reads the header into `seen`: its fields that change, as they are now or were before the file was
 * cut; the log's identity, as it was when the collector began. */
void live_log_read_header(struct live_log *log);

/* Commands to the program, and the state of its requests; in the header page. */
struct log_mailbox *live_log_mailbox(const struct live_log *log);

/* State of the recorder for readers of the log; in the header page. */
struct log_packing *live_log_packing(const struct live_log *log);

/* Part of the file was cut off while it was mapped; the missing part reads as zeros. */
bool live_log_is_cut(const struct live_log *log);

#endif
