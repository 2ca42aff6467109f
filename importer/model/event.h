/* SPDX-License-Identifier: MIT */
/*
 * event: what the log reader passes to the pairing, in time order over all threads and processes.
 *
 * A realloc is two events, because another thread may get the old address in between: REALLOC_BEGIN
 * ends the old block, REALLOC_END begins the new one. A failed realloc is one FAILURE.
 *
 * Invariants
 *   EV-1 time_ns never decreases. At equal times, frees (FREE, REALLOC_BEGIN, MUNMAP) come before
 *        allocations of other threads. Events of one thread keep their order.
 *   EV-2 Each REALLOC_BEGIN is followed by the REALLOC_END of the same `pair`; pairs of a thread do
 *        not overlap.
 *   EV-3 process, thread and backtrace are ids of the database, or stable numbers while the
 *        recording grows (stable_ids.h), and never 0. Events without a stack
 *        have the stack "[no backtrace]", those of unknown threads the is_unknown thread of the
 *        process.
 *   EV-4 An END with LOG_END_UNKNOWN cancels the END before it: an exec failed.
 *   EV-5 If a part of a log cannot be read, a LOST event of its process comes before the next event
 *        of any process.
 *   EV-6 Addresses of blocks are 1 to 2^48 - 1. No block or mapping exceeds EVENT_MAX_BYTES, no
 *        alignment 2^EVENT_MAX_ALIGNMENT_LOG2, and all sizes, slack and elided blocks add up to at
 *        most EVENT_MAX_SUM. So no sum overflows.
 */
#ifndef MTRACE_IMPORTER_EVENT_H
#define MTRACE_IMPORTER_EVENT_H

#include <stdint.h>

/* EV-6 */
#define EVENT_MAX_BYTES          (UINT64_C(1) << 47)
#define EVENT_MAX_ALIGNMENT_LOG2 47
#define EVENT_MAX_SUM            (UINT64_C(1) << 62)
#define EVENT_MIN_PAGE_BYTES     4096

enum event_kind {
    EVENT_ALLOC,
    EVENT_FREE,
    EVENT_REALLOC_BEGIN, /* address = old block */
    EVENT_REALLOC_END,   /* address = new block, old_address = old block */
    EVENT_FAILURE,       /* size = asked for, value = errno, address = realloc's old block or 0 */
    EVENT_MMAP,
    EVENT_MUNMAP,      /* address, size = length */
    EVENT_MREMAP,      /* old_address, old_size -> address, size */
    EVENT_BRK,         /* address = new break, old_address = old */
    EVENT_MALLOPT,     /* parameter, value, result; call 0 mallopt, 1 malloc_trim */
    EVENT_MARKER,      /* value = marker id of the log, text */
    EVENT_FORK,        /* value = pid of the child */
    EVENT_TRACING,     /* value = 1 on, 0 off; address: enum log_switch */
    EVENT_HEAP_EXTENT, /* address..old_address (end), value = enum log_heap_kind */
    /* of size bytes from address, `value` are resident, -1: unknown; call 0: a scan begins, 1: a
     * run of the scan */
    EVENT_RESIDENT,
    /* n_elided blocks of one size class and one lifetime class, size bytes in all, that the thread
     * allocated and freed in the group; free_backtrace; result: 1 if they are temporary, else 0;
     * slack_bytes; lifetime_ns: sum */
    EVENT_ELIDED,
    /* the thread allocated n_elided blocks of EVENT_ELIDED; at most size bytes of them were live
     * together */
    EVENT_ELIDED_ALLOCATIONS,
    EVENT_END,         /* value = enum log_end, result = status or signal */
    EVENT_MOVE,        /* the block at address moves to `group` */
    EVENT_PHASE,       /* value = number of the phase, text = its name, NULL: the phase ends */
    EVENT_POOL_ALLOC,  /* value = number of the pool */
    EVENT_POOL_FREE,   /* value */
    EVENT_POOL_RESIZE, /* address = new block, old_address = old block, value */
    EVENT_POOL_END,    /* value; address is 0 */
    /* value = number of the walk, text = its name, NULL: the walk ends with `address` warnings */
    EVENT_OBJECT_WALK,
    /* address = node, old_address = parent, value, text = name, size = own bytes, n_elided =
     * objects, call = enum log_object_kind */
    EVENT_OBJECT_NODE,
    /* address, size = declared, old_address = node, value, call = 0 root, 1 unique, 2 shared */
    EVENT_OBJECT_CLAIM,
    EVENT_OBJECT_WARNING, /* value, text */
    EVENT_NEXT_OWNER,     /* until now another thread had this thread's number */
    /* not in the log: made of a free or realloc without a live block; value = 1: realloc */
    EVENT_UNMATCHED_FREE,
    EVENT_LOST, /* not in the log: a part of it could not be read here */
};

/* The recording does not say which call: not a kind of the database. */
#define EVENT_CALL_UNKNOWN 31

/* Small, because events are passed between threads. Members of a union belong to different
 * kinds. */
struct event {
    uint64_t time_ns; /* since the start of the earliest recorded process */

    uint64_t address;
    uint64_t size; /* requested bytes; length of mappings */

    union {
        uint64_t old_address;
        uint64_t lifetime_ns; /* ELIDED */
    };

    union {
        uint64_t usable;      /* ALLOC, REALLOC_END: usable bytes, >= size; 0 = unknown */
        int64_t value;        /* the others */
        uint32_t slack_bytes; /* ELIDED */
    };

    union {
        uint64_t pair; /* REALLOC_*: the same number in both halves, unique in the run */
        const char *
            text; /* MMAP path, MARKER and PHASE name; NULL if none; lives as long as definitions */
    };

    union {
        uint64_t old_size;   /* MREMAP */
        uint64_t n_elided;   /* ELIDED* */
        int64_t parameter;   /* MALLOPT */
        int64_t file_offset; /* MMAP */
    };

    uint32_t process;
    uint32_t thread;
    uint32_t backtrace;

    union {
        uint32_t free_backtrace; /* ELIDED */
        int32_t prot;            /* MMAP */
    };

    union {
        int32_t result; /* MALLOPT, END, ELIDED */
        int32_t flags;  /* MMAP */
    };

    uint32_t group; /* number in definitions; 0: the root */

    int32_t fd;   /* MMAP */
    uint8_t kind; /* enum event_kind */

    uint8_t call; /* enum log_call without flags; MALLOPT: 0 mallopt, 1 malloc_trim */

    uint8_t chunk_flags;    /* LOG_CHUNK_* */
    uint8_t alignment_log2; /* 0: malloc's own */
};

#endif
