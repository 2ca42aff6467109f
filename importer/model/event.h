/* SPDX-License-Identifier: MIT */
/*
 * event: what the log reader passes to the pairing, in time order over all threads and processes.
 *
 * A realloc is two events, because another thread may get the old address in between: REALLOC_BEGIN ends
 * the old block, REALLOC_END begins the new one. A failed realloc is one FAILURE.
 *
 * Invariants
 *   EV-1 time_ns never decreases. At equal times, frees (FREE, REALLOC_BEGIN, MUNMAP) come before
 *        allocations of other threads. Events of one thread keep their order.
 *   EV-2 Each REALLOC_BEGIN is followed by the REALLOC_END of the same `pair`; pairs of a thread do not
 *        overlap.
 *   EV-3 process, thread and node are ids of the database and never 0. Events without a stack have the
 *        stack "[no backtrace]", those of unknown threads the is_unknown thread of the process.
 *   EV-4 An END with LOG_END_UNKNOWN cancels the END before it: an exec failed.
 *   EV-5 If a part of a log cannot be read, a LOST event of its process comes before the next event of any
 *        process.
 *   EV-6 Addresses of blocks are 1 to 2^48 - 1. No block or mapping exceeds EVENT_MAX_BYTES, no alignment
 *        2^EVENT_MAX_ALIGNMENT_LOG2, and all sizes, slack and elided blocks add up to at most
 *        EVENT_MAX_SUM. So no sum overflows.
 */
#ifndef MTRACE_IMPORTER_EVENT_H
#define MTRACE_IMPORTER_EVENT_H

#include <stdint.h>

/* EV-6 */
#define EVENT_MAX_BYTES          (UINT64_C(1) << 47)
#define EVENT_MAX_ALIGNMENT_LOG2 47
#define EVENT_MAX_SUM            (UINT64_C(1) << 62)
#define EVENT_LEAST_PAGE_BYTES   4096

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
    EVENT_RESIDENT, /* of size bytes from address on `value` are in memory, -1: not known; call 0: the
                       thread begins to look at them, 1: a run of what it looks at */
    EVENT_ELIDED, /* n_elided blocks of one size, size bytes in all, allocated and freed by the thread in the
                       group, unseen, up to now; free_node, result = of them temporary, slack_bytes, lifetime_ns of
                       all, pair = first birth, ns ago 32 | last one 32 */
    EVENT_ELIDED_MIXED, /* the same of blocks of several sizes, of least_bytes to largest_bytes; temporary_bytes */
    EVENT_ELIDED_SIZES, /* of the blocks of EVENT_ELIDED_MIXED n_elided, of size bytes in all, had sizes of the class `call`; result, slack_bytes */
    EVENT_ELIDED_LIVES, /* of those n_elided, of size bytes, had lifetimes of the class `value` */
    EVENT_ELIDED_ALLOCATIONS, /* n_elided blocks of the thread were born, which are in EVENT_ELIDED; of those up to size bytes were live at a time */
    EVENT_END,                /* value = enum log_end, result = status or signal */
    EVENT_MOVE,               /* the block at address is charged to `group` from now on */
    EVENT_PHASE,              /* value = number of the phase, text = its name, NULL: it ends */
    EVENT_POOL_ALLOC,         /* value = number of the pool */
    EVENT_POOL_FREE,          /* value */
    EVENT_POOL_RESIZE,        /* address = new block, old_address = old block, value */
    EVENT_POOL_END,           /* value; address is 0 */
    EVENT_OBJECT_WALK, /* value = number of the walk, text = its name, NULL: it ends, with `address` warnings */
    EVENT_OBJECT_NODE, /* address = node, old_address = parent, value, text = name, size = own bytes, n_elided = objects, call = enum log_object_kind */
    EVENT_OBJECT_CLAIM, /* address, size = declared, old_address = node, value, call = kind: 0 root, 1 unique, 2 shared */
    EVENT_OBJECT_WARNING, /* value, text */
    EVENT_NEXT_OWNER,     /* the thread's number was another one's until now */
    EVENT_LOST,           /* none of the log: here a part of it could not be read */
};

/* A call that the recording does not name: no kind in the database. */
#define EVENT_CALL_UNKNOWN 31

/* Small, because an event crosses from one thread to another; what shares a place belongs to
 * different kinds. */
struct event {
    uint64_t time_ns; /* since the start of the earliest recorded process */

    union {
        uint64_t address;

        struct {
            uint32_t least_bytes, largest_bytes; /* CULLED_MIXED */
        };
    };

    uint64_t size; /* requested bytes; length of mappings */

    union {
        uint64_t old_address;
        uint64_t lifetime_ns; /* CULLED, CULLED_MIXED */
    };

    union {
        uint64_t usable; /* ALLOC, REALLOC_END: usable bytes, >= size; 0 = unknown */
        int64_t value;   /* the others */

        struct {
            uint32_t slack_bytes;    /* CULLED, CULLED_MIXED, CULLED_SIZES */
            uint32_t largest_ns_ago; /* CULLED_MIXED: one of largest_bytes was born */
        };
    };

    union {
        uint64_t pair; /* REALLOC_*: the same number in both halves, unique in the run */
        const char *
            text; /* MMAP path, MARKER and PHASE name; NULL if none; lives as long as definitions */
    };

    union {
        uint64_t old_size;   /* MREMAP */
        uint64_t n_elided;   /* CULLED* */
        int64_t parameter;   /* MALLOPT */
        int64_t file_offset; /* MMAP */
    };

    uint32_t process;
    uint32_t thread;
    uint32_t node;

    union {
        uint32_t free_node; /* CULLED, CULLED_MIXED */
        int32_t prot;       /* MMAP */
    };

    union {
        int32_t result; /* MALLOPT, END, CULLED, CULLED_MIXED, CULLED_SIZES */
        int32_t flags;  /* MMAP */
    };

    uint32_t group; /* number in definitions; 0: the root */

    union {
        int32_t fd;               /* MMAP */
        uint32_t temporary_bytes; /* CULLED_MIXED */
    };

    uint8_t kind; /* enum event_kind */

    uint8_t call; /* enum log_call without flags; MALLOPT: 0 mallopt, 1 malloc_trim */

    uint8_t chunk_flags;    /* LOG_CHUNK_* */
    uint8_t alignment_log2; /* 0: malloc's own */
};

#endif
