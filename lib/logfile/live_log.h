/* SPDX-License-Identifier: MIT */
/*
 * live_log: a raw log from the recorder's side: the pool it makes for the program, or the log that
 * a child made for itself, while the program writes into it.
 *
 * Model:   one shared mapping of the whole file, enlarged when the program adds segments. Whatever
 *          is read may have been overwritten by the program, or be overwritten right now: every
 *          index, length and link is read once and checked before use, and what is read more than
 *          once is read from a copy. Which log it is, is remembered from when it began.
 * Invariants
 *   LL-1 Segments 0 .. n_mapped-1 are mapped; n_mapped only grows. Pointers to segments die with
 *        live_log_refresh.
 *   LL-2 The file is never truncated or punched while it is mapped: the program would get SIGBUS.
 *   LL-3 A segment is put on the free stack only after its frame is in the packed file.
 *   LL-4 Segments below n_segments have their space, as segment.h says (SG-4): to touch a hole on a
 *        full tmpfs would be SIGBUS.
 *   LL-5 Whatever the program does to the file, reading it ends and harms nobody: it may cut it
 *        (guarded_map.h), and nothing behind max_segments is looked at however large it makes it.
 * Threads: one here; the program's threads on the other side, by the atomics of log_format.h.
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
    /* 8 MiB: what a program allocating as fast as it can writes while we wait for a processor for
     * some 20 ms. An exhausted pool costs the program fresh pages of the file. */
    LIVE_LOG_POOL_SEGMENTS = 128,
    LIVE_LOG_FIRST_SEGMENTS = 12, /* of those that a new pool has on its free stack at once */
};

struct live_log {
    char *path; /* where the file is; owned */
    char
        *link_path; /* OUT.live, a link to path, when the file had to go elsewhere; owned or NULL */
    struct guarded_map map;
    struct log_file *file;
    struct log_file seen; /* a copy of the header, see live_log_look */
    bool has_begun;       /* `seen` is of a collector that began */
    uint32_t n_mapped;
    uint32_t max_segments; /* LL-5 */
    const char *weakness;  /* why it is in /dev/shm, or should be; static, NULL: it is not */
    uint32_t n_unprepared; /* segments 0 .. n-1 of our pool were never on the free stack */
    int fd;
};

/*
 * Makes the pool `path` with its space reserved and some segments on the free stack; see
 * live_log_prepare. When the directory has no shared mappings, or may lack reserved space
 * (file_systems.h), it goes to /dev/shm, with LOG_FLAG_WEAK and a link at `path`.
 * Where there is no room for n_segments, there are fewer.
 * The file must not exist. Close with live_log_close; *ret_log must stay where it is until then.
 */
int live_log_create(const char *path, uint64_t run_id, uint32_t n_segments,
                    struct live_log *ret_log, struct error *err);

/* Maps an existing raw log, perhaps through a link as above: shared with the program that writes it, or a private view of a file
 * that stays as it is. *ret_log must stay where it is until live_log_close. */
int live_log_open(const char *path, bool is_shared, struct live_log *ret_log, struct error *err);

/* Where a link of ours leads, to a live log in shared memory; NULL: there is none, or no memory. To be freed. */
char *live_log_follow(const char *path);

/* Looks at no segment behind max_bytes of them, but always at as many as a pool of ours has. */
void live_log_limit(struct live_log *log, uint64_t max_bytes);

/* Unmaps and closes; the file stays. An all-zero log with fd -1 may be closed. */
void live_log_close(struct live_log *log);

/* Deletes the file and its link. */
void live_log_remove(const struct live_log *log);

/* Gives the file, or its link, the name `path` in the same folder; what had it is gone. Nobody else knows
 * the old name yet. */
int live_log_rename(struct live_log *log, const char *path, struct error *err);

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

/* Copies the header of a segment, and of its payload what may be read now; ret_payload holds
 * LOG_SEGMENT_PAYLOAD_BYTES. Returns the bytes of payload; 0 when the segment is no more what it was
 * (`sequence`), was cut away, or is empty. */
uint32_t live_log_copy_segment(const struct live_log *log, uint32_t index, uint64_t sequence,
                               struct log_segment *ret_segment, void *ret_payload);

/* The first segment from `from` on that holds something, n_mapped when none does. */
uint32_t live_log_next_used(const struct live_log *log, uint32_t from);

/* Takes all sealed segments off their stack: calls `see` with each index, while it returns true; what
 * is left stays sealed. */
typedef bool live_log_see(void *context, uint32_t index);
void live_log_take_sealed(struct live_log *log, live_log_see *see, void *context);

/* Puts up to n more segments of a new pool on the free stack. Each costs a fresh page of the file,
 * so that a program of a millisecond should not wait for all. */
void live_log_prepare(struct live_log *log, uint32_t n);

/* Gives a packed segment back to the program (LL-3). */
void live_log_recycle(struct live_log *log, uint32_t index);

/* Looks at the header: afterwards `seen` says what changes as it is now, or was before the file was
 * cut, and which log it is as that was when the collector began. */
void live_log_look(struct live_log *log);

/* Of the program, about itself; in the header page. */
struct log_question *live_log_question(const struct live_log *log);

/* What we say to those who read it; in the header page. */
struct log_packing *live_log_packing(const struct live_log *log);

/* Part of the file went away while it was mapped: what is missing reads as zeros. */
bool live_log_is_cut(const struct live_log *log);

#endif
