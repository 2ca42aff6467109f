/* SPDX-License-Identifier: MIT */
/*
 * segment: the pool of segments in the mapped log. Lock-free; a segment is taken, filled and
 * sealed.
 *
 * The segments that exist at segment_attach are one mapping. Later ones come in chunks of
 * SEGMENT_CHUNK, each a mapping of its own. log_format.h describes the states of a segment.
 *
 * Invariants
 *   SG-1 The space of a segment is reserved in the file system before the segment is handed out,
 *        within RLIMIT_FSIZE and MTRACE_MAX_LIVE. So a store cannot raise SIGBUS, except with
 *        LOG_FLAG_WEAK.
 *   SG-2 No descriptor is held. Growth opens the path again and checks device and inode.
 *   SG-3 A new filling has a new sequence, committed_bytes 0 and, except for EVENTS, a zeroed
 *        payload before its state becomes FILLING.
 *   SG-4 The file has no holes: a chunk counts when the space of all chunks before it is reserved.
 *   SG-5 A fork child does not inherit the mappings. It calls segment_forget first.
 *   SG-6 After segment_replace_mappings a thread can still write to the segment that it fills, seal
 *        it and put it back. No reader sees this, and no new segment can be taken.
 *   SG-7 The sequence is 0 while a filling is replaced by the next one. A reader that finds the
 *        same sequence before and after reading has read one filling.
 *
 * Without a recorder, or after its death, sealed segments stay on their stack: the file grows up to
 * MTRACE_MAX_LIVE, then events are dropped and counted (LOG_DROP_LIMIT).
 *
 * Any thread. Async-signal-safe and reentrant. On failure the functions return NULL and the caller
 * counts the dropped events with segment_count_drop(segment_drop_reason()).
 */
#ifndef MTRACE_COLLECTOR_SEGMENT_H
#define MTRACE_COLLECTOR_SEGMENT_H

#include "collector/os/sys.h"
#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SEGMENT_CHUNK = 8, /* segments by which the file grows */
};

/* How growth finds the log file. */
struct segment_file {
    const char *path;       /* absolute; both live as long as the pool */
    const char *later_path; /* its name after it replaces an older log; NULL: none */
    struct sys_file_id id;
    uint64_t max_bytes; /* MTRACE_MAX_LIVE */
};

/*
 * Begins to use a mapped log: n_first segments follow `file` in the same mapping. The recorder has
 * put them on file->free_stack, or segment_add_free does.
 */
void segment_attach(struct log_header *file, uint32_t n_first, const struct segment_file *where);

/* Pushes segments first..first+n-1, zeroed and reserved, on the free stack. */
void segment_add_free(uint32_t first, uint32_t n);

/* After fork: no log. Touches no mapping. */
void segment_forget(void);

/*
 * Puts private memory in place of the log, so that interrupted code can finish (SG-6): in a fork
 * child of a signal handler that interrupted the collector, and when a recording ends while threads
 * record.
 */
void segment_replace_mappings(void);

/* Unmaps the log. No thread may be about to write to it. */
void segment_unmap(void);

/* The header of the log, NULL before attach. */
struct log_header *segment_log(void);

/* CLOCK_MONOTONIC at the start of the last attached log; also valid after segment_forget. */
uint64_t segment_start_ns(void);

/* The segment with an index below n_segments; NULL when it is not mapped here. */
struct log_segment *segment_at(uint32_t index);

#define SEGMENT_FROM_NOW UINT64_MAX

/* An event that began at `since` must get a segment of its own base (LF-8). */
static inline bool segment_is_early(uint64_t since, uint64_t now)
{
    return since < now && now - since > LOG_EARLY_TICKS;
}

/* Takes a segment in state FILLING from the free stack, or grows the file. */
struct log_segment *segment_take(enum log_segment_kind kind);

/* The same for EVENTS; since: when the first event began, or SEGMENT_FROM_NOW. */
struct log_segment *segment_take_events(uint64_t since);

/* The same for NODES; first_node: id of its first slot. */
struct log_segment *segment_take_nodes(uint32_t first_node);

/* Hands a full segment to the recorder. DEFS and NODES are not recycled (LF-4). */
void segment_seal(struct log_segment *segment);

/* Returns an unused segment to the free stack. */
void segment_give_back(struct log_segment *segment);

/* Partly filled EVENTS segments of threads that ended; NULL if there is none. */
void segment_put_partial(struct log_segment *segment);
struct log_segment *segment_take_partial(void);

/*
 * A kind of segment that all threads fill together: fetch_add reserves space in the current one. A
 * full one is not sealed here, since other threads may still write to it.
 */
struct segment_shared {
    _Atomic(struct log_segment *) current; /* NULL in a fork child, at first */
    enum log_segment_kind kind;
};

/* Returns zeroed space for size_bytes and its segment; NULL: there is none. */
void *segment_reserve(struct segment_shared *shared, uint32_t size_bytes,
                      struct log_segment **ret_segment);

/* Creates n more free segments now: the file cannot grow after chroot or a seccomp filter. */
void segment_reserve_ahead(uint32_t n);

/* Count dropped events. */
void segment_count_drops(enum log_drop reason, uint64_t n);
void segment_count_drop(enum log_drop reason);

/* Reason of the last failure of segment_take. */
enum log_drop segment_drop_reason(void);

/* Reserves [offset, offset + size) of the file behind fd (SG-1); negative errno. */
long segment_reserve_space(int fd, uint64_t offset, uint64_t size_bytes, bool *ret_is_weak);

static inline unsigned char *segment_payload(struct log_segment *segment)
{
    return (unsigned char *)segment + LOG_SEGMENT_HEADER_BYTES;
}

/* ---- commands of the recorder ---- */

/* The last command, and one marker name at a time, in the header page of the log. Any event may
 * find a pending command; process/control_commands.h executes it. The process must have a log. */
static inline struct log_mailbox *segment_commands_get(void)
{
    return log_mailbox_of(segment_log());
}

static inline bool segment_commands_are_due(void)
{
    const struct log_mailbox *mailbox = segment_commands_get();

    return atomic_load_explicit(&mailbox->n_given, memory_order_acquire)
           != atomic_load_explicit(&mailbox->n_handled, memory_order_relaxed);
}

#endif
