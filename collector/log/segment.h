/* SPDX-License-Identifier: MIT */
/*
 * segment: the pool of segments of the mapped log; taken and given back by atomics alone.
 *
 * Model:   segments 0..first-1 are one mapping (what existed at attach), later ones come in chunks
 *          of SEGMENT_CHUNK, each mapped on its own. States as drawn in log_format.h.
 * Invariants
 *   SG-1 A segment is handed out only after its space is reserved in the file system, never past
 *        RLIMIT_FSIZE or MTRACE_MAX_LIVE: a store to it cannot raise SIGBUS. (Not so where LOG_FLAG_WEAK
 *        says that the file system copies on write: a raw log without recorder may be there.)
 *   SG-2 No descriptor is held: growth opens the path again, or the later one, and goes on only when device and
 *        inode are still those of the log.
 *   SG-3 A new filling has a new sequence, committed_bytes 0, and for all kinds but EVENTS a zeroed
 *        payload, before its state is FILLING.
 *   SG-4 The file has no holes: a chunk counts only when its space and that of all before it is
 *        reserved.
 *   SG-5 In a fork child the mappings do not exist; segment_forget is called before anything else.
 *   SG-6 In what segment_replace_mappings put in their place, a segment that somebody still fills has no state, and none is
 *        to be had: it may be written to, sealed and put back, and nobody sees it.
 *   SG-7 From before the first byte of the last filling changes until there is a new one its sequence is 0, which readers take for a
 *        segment that was never used: who finds the sequence he listed behind what he has read has read that filling.
 * Threads: any. Signals: safe, also nested in themselves: no lock, no wait.
 * Failure: NULL; the caller counts what it drops with segment_count_drop(segment_drop_reason()).
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

/* How the log can be found again. */
struct segment_file {
    const char *path;       /* absolute; lives as long as the pool, as does: */
    const char *later_path; /* its name once it has taken the place of an older log; NULL: none */
    struct sys_file_id id;
    uint64_t max_bytes; /* MTRACE_MAX_LIVE */
};

/*
 * Begins to use a mapped log: `file` is followed by n_first segments in the same mapping. They are
 * those of file->free_stack already (made by the recorder), or else segment_add_free gives them.
 */
void segment_attach(struct log_file *file, uint32_t n_first, const struct segment_file *where);

/* Pushes segments first..first+n-1, zeroed and reserved, on the free stack. */
void segment_add_free(uint32_t first, uint32_t n);

/* After fork: no log. Touches no mapping. */
void segment_forget(void);

/*
 * In a fork child whose forking handler interrupted us, and where a recording ends while threads may
 * be in the middle of a call: plain memory takes the place of the log, so that the interrupted code
 * can come to its end (SG-6). What it writes is no one's.
 */
void segment_replace_mappings(void);

/* The log is gone, and no thread can be about to write to it. */
void segment_unmap(void);

/* The header of the log, NULL before attach. */
struct log_file *segment_log(void);

/* When the last log that was attached began, on the monotonic clock; also where it is gone: a fork child may ask in the
 * midst of what its handler interrupted. */
uint64_t segment_start_ns(void);

/* The segment with an index below n_segments; NULL when it is not mapped here. */
struct log_segment *segment_at(uint32_t index);

#define SEGMENT_FROM_NOW UINT64_MAX

/* Is what began then so old that readers must be told by the segment's base (LF-8)? */
static inline bool segment_is_early(uint64_t since, uint64_t now)
{
    return since < now && now - since > LOG_EARLY_TICKS;
}

/* A segment in state FILLING; of the free stack, or from growth. */
struct log_segment *segment_take(enum log_segment_kind kind);

/* One of events, the first of which began at `since`, or SEGMENT_FROM_NOW. */
struct log_segment *segment_take_events(uint64_t since);

/* One of nodes, from that id on. */
struct log_segment *segment_take_nodes(uint32_t first_node);

/* Full: to the recorder. DEFS and NODES are sealed, but stay (LF-4). */
void segment_seal(struct log_segment *segment);

/* Back to the free stack, nothing was written in it. */
void segment_give_back(struct log_segment *segment);

/* EVENTS segments with room left, of threads that ended; NULL if none. */
void segment_put_partial(struct log_segment *segment);
struct log_segment *segment_take_partial(void);

/*
 * A kind whose segments all callers fill together: room for a record is reserved by fetch_add in
 * the current one, which is not sealed here when it is full, as others may still write to it.
 */
struct segment_shared {
    _Atomic(struct log_segment *) current; /* NULL in a fork child, at first */
    enum log_segment_kind kind;
};

/* Room for size_bytes, zeroed, and the segment it is in; NULL: none can be had. */
void *segment_reserve(struct segment_shared *shared, uint32_t size_bytes,
                      struct log_segment **ret_segment);

/* Makes n more free segments now, because it will not be possible later (chroot, seccomp). */
void segment_reserve_ahead(uint32_t n);

/* Counts events that are in no segment. */
void segment_count_drops(enum log_drop reason, uint64_t n);
void segment_count_drop(enum log_drop reason);

/* Why segment_take failed last. */
enum log_drop segment_drop_reason(void);

/* Reserves [offset, offset + size) of the file behind fd (SG-1); negative errno. */
long segment_reserve_space(int fd, uint64_t offset, uint64_t size_bytes, bool *ret_is_weak);

static inline unsigned char *segment_payload(struct log_segment *segment)
{
    return (unsigned char *)segment + LOG_SEGMENT_HEADER_BYTES;
}

#endif
