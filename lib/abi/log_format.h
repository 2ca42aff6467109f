/* SPDX-License-Identifier: MIT */
/*
 * log_format: the byte layout of a log. The collector writes it, the recorder packs it, the
 * importer reads it. docs/log-format.md explains the same layout.
 *
 * A log records one process image. It exists in two forms:
 *   raw     struct log_header padded to LOG_FILE_HEADER_BYTES, then segments 0, 1, 2, … in a shared
 *           mapping. A raw log that a recorder packs is called a live log.
 *   packed  the same header with form = LOG_FORM_PACKED, then frames: struct log_frame and its
 *           payload, each at a multiple of 8 bytes
 * Numbers have the byte order of the recording machine.
 *
 * Terms
 *   segment  unit of writing, LOG_SEGMENT_BYTES; belongs to one thread while it is filled; recycled
 *   event    one record in a segment: a whole number of 8-byte words
 *   node     entry of the stack tree: parent node + one stack frame; a stack is named by its node
 *            id
 *   frame    packed frame, the unit of a packed log: one segment, memory samples, or the trailer
 *   ticks    unit of all times: TSC cycles or CLOCK_MONOTONIC nanoseconds (log_header.clock)
 *
 * Invariants
 *   LF-1  Bytes below committed_bytes are complete. Writers store committed_bytes with release
 *         order, readers load it with acquire order. Bytes above it are undefined.
 *   LF-2  (run_id, sequence) identifies one filling of a segment. If a raw segment and a packed
 *         frame carry the same pair, they hold the same events; the reader prefers the frame if its
 *         checksum is valid.
 *   LF-3  An event refers only to ids (stacks, modules, threads) that were committed before it.
 *   LF-4  DEFS and NODES segments are never recycled.
 *   LF-5  An event's kind encodes its length (log_event_words), so readers can skip unknown kinds.
 *         No event reaches beyond its segment.
 *   LF-6  Within a segment, the times of one thread never decrease.
 *   LF-7  The definition of a group is committed before an event refers to it.
 *   LF-8  No event began more than LOG_EARLY_TICKS before the base_ticks of its segment.
 *   LF-9  Addresses and sizes are 64-bit, also of 32-bit programs. Tag bits of AArch64 are cleared.
 *   LF-10 Fields are at multiples of their size and structures have no padding, so that the layout
 *         does not depend on the alignment of 64-bit integers.
 */
#ifndef MTRACE_LIB_LOG_FORMAT_H
#define MTRACE_LIB_LOG_FORMAT_H

#include "lib/abi/log_machines.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_MAX_SAMPLE_BYTES ((uint64_t)1 << 40) /* of log_header.sample_bytes */

#define LOG_MAGIC "mtrace\r\n" /* 8 bytes; \r\n shows a transfer in text mode */

enum {
    LOG_VERSION = 1, /* readers refuse a larger one */
    LOG_FILE_HEADER_BYTES = 4096,
    LOG_SEGMENT_BYTES = 65536,
    LOG_SEGMENT_HEADER_BYTES = 128,
    LOG_SEGMENT_PAYLOAD_BYTES = LOG_SEGMENT_BYTES - LOG_SEGMENT_HEADER_BYTES,
    LOG_MAX_SEGMENTS = 1 << 20, /* 64 GiB of raw log */
    LOG_EARLY_TICKS = 1 << 16,  /* LF-8 */
    LOG_ALLOCATOR_BYTES = 24,
    LOG_WHY_BYTES = 160,
};

enum log_form {
    LOG_FORM_RAW = 1,
    LOG_FORM_PACKED = 2
};

/* One byte, which reads the same in both orders. */
enum log_byte_order {
    LOG_LITTLE_ENDIAN = 1,
    LOG_BIG_ENDIAN = 2
};

enum log_clock {
    LOG_CLOCK_MONOTONIC = 1,
    LOG_CLOCK_TSC = 2
};

/* Why events were dropped; index into log_header.dropped. */
enum log_drop {
    LOG_DROP_NO_SPACE,    /* the live log is full and cannot grow (disk, RLIMIT_FSIZE, seccomp) */
    LOG_DROP_LIMIT,       /* MTRACE_MAX_LIVE reached */
    LOG_DROP_NESTED,      /* no usable thread state, and no space for a fallback record */
    LOG_DROP_NO_MEMORY,   /* the collector got no private memory */
    LOG_DROP_NO_ACCESS,   /* the process cannot open its log any more: another user or root
                           directory, or the file is gone */
    LOG_DROP_ABANDONED,   /* a signal handler abandoned a recording by siglongjmp */
    LOG_DROP_REASONS = 8, /* slots in the header, the rest reserved */
};

/* How the process ended. */
enum log_end {
    LOG_END_UNKNOWN = 0,   /* killed, crashed, or still running */
    LOG_END_EXIT = 1,      /* exit() or return from main; value = status */
    LOG_END_IMMEDIATE = 2, /* _exit, _Exit; value = status */
    LOG_END_QUICK = 3,     /* quick_exit; value = status */
    LOG_END_ABORT = 4,     /* abort(); value = SIGABRT */
    LOG_END_SIGNAL = 5,    /* written by the recorder: value = signal number */
    LOG_END_EXEC = 6,      /* the image was replaced */
    LOG_END_DETACHED = 7,  /* it runs on unrecorded */
};

/* Whether an allocator inside the executable is recorded; written by the collector. */
enum log_embedded {
    LOG_EMBEDDED_NO_PLAN = 0,  /* there is none, or mtrace-record made no patch plan */
    LOG_EMBEDDED_RECORDED = 1, /* all its functions are patched */
    LOG_EMBEDDED_PARTLY = 2,   /* all but some that allocate */
    LOG_EMBEDDED_CHANGED = 3,  /* the code in memory differs from the file */
    LOG_EMBEDDED_THREADS = 4,  /* the process had several threads already */
    LOG_EMBEDDED_NO_ROOM = 5,  /* no memory near the program for trampolines */
    LOG_EMBEDDED_REFUSED = 6,  /* the kernel refused to write /proc/self/mem */
};

/* log_header.flags */
enum {
    LOG_FLAG_FREE_BACKTRACES = 1 << 0, /* frees carry their stack */
    /* the live log is in /dev/shm, or its space is not reserved: it is lost with the machine, or a
     * full disk may raise SIGBUS */
    LOG_FLAG_WEAK = 1 << 1,
    /* malloc of the program does not resolve to the collector, which sees only the blocks that the
     * other malloc requests from it: often none */
    LOG_FLAG_FOREIGN_MALLOC = 1 << 2,
    LOG_FLAG_STARTED_OFF = 1 << 3, /* no window is open until the first LOG_TRACING */
    LOG_FLAG_TRACING_WAS_OFF =
        1 << 4, /* some allocations were not recorded because tracing was off at the time */
    LOG_FLAG_FOREIGN_NEW = 1 << 5, /* operator new does not pass malloc: its blocks are missing */
    LOG_FLAG_FORKED = 1 << 6,      /* a fork child: it has blocks that its parent made */
    LOG_FLAG_TRUNCATED =
        1 << 7, /* by the recorder: the live log was cut while it was packed, and what was
                              not packed by then is missing */
    LOG_FLAG_ATTACHED = 1 << 8, /* the program ran already: it has blocks from before */
    /* by the recorder: the events are in rotated files beside it, and older ones are removed */
    LOG_FLAG_BOUNDED = 1 << 9,
};

/*
 * The first bytes of every log. In a raw log they are shared memory: fields marked (atomic) change
 * while the program runs, all others are written before the magic.
 *
 * The stacks are Treiber stacks of segment indexes: low 32 bits index + 1 (0: empty), high 32 bits
 * a tag that every push and pop increments (against ABA). Links are log_segment.next.
 */
struct log_header {
    char magic[8];      /* LOG_MAGIC, written last */
    uint32_t version;   /* LOG_VERSION */
    uint32_t form;      /* enum log_form */
    uint16_t arch;      /* enum log_arch, of the program */
    uint8_t word_bytes; /* of its addresses: 4 or 8 */
    uint8_t byte_order; /* enum log_byte_order: of all numbers of the log */
    uint32_t page_bytes;
    uint32_t segment_bytes; /* LOG_SEGMENT_BYTES */
    uint32_t clock;         /* enum log_clock */
    uint64_t run_id;        /* random; the same in all files of one log */
    uint64_t parent_run_id; /* of the process that forked or exec'd into this one; 0: none known */
    uint32_t pid;
    uint32_t parent_pid; /* of the parent in parent_run_id; 0 if none */
    uint32_t
        image; /* how many recorded images this pid had before (exec); part of the log's name */
    uint32_t flags;              /* (atomic) LOG_FLAG_* */
    uint64_t start_ticks;        /* three clocks read at one instant */
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC */
    uint64_t start_unix_ns;      /* CLOCK_REALTIME */
    uint64_t last_ticks; /* (atomic) a later reading of the same pair: gives the rate of ticks */
    uint64_t last_monotonic_ns; /* (atomic) */
    char collector_version[32]; /* NUL-padded */

    _Atomic uint32_t n_segments;    /* segments whose space is reserved; only grows */
    _Atomic uint32_t n_nodes;       /* node ids handed out so far, the reserved ones included */
    _Atomic uint64_t next_sequence; /* of the next filling of a segment */
    _Atomic uint64_t
        free_stack; /* segments ready for use; pushed by both, popped by the collector */
    _Atomic uint64_t
        sealed_stack; /* full segments; pushed by the collector, taken whole by the recorder */
    _Atomic uint64_t
        partial_stack; /* partly filled EVENTS segments of threads that ended; collector only */
    _Atomic uint64_t
        dropped[LOG_DROP_REASONS]; /* events that are in no segment, by enum log_drop */
    /* of the recorder; 0: none, or it released the log. Stays after SIGKILL: see heartbeat */
    _Atomic uint32_t recorder_pid;
    _Atomic uint32_t end_kind; /* enum log_end */
    _Atomic int32_t end_value; /* status or signal */
    _Atomic uint32_t
        n_threads; /* that were recorded so far; there are fewer indexes where threads share some */
    _Atomic uint32_t
        unwind_mismatches; /* MTRACE_UNWINDER=check: stacks that differ from libunwind's */
    _Atomic uint32_t unwind_checked; /* stacks compared */
    uint64_t
        max_rss_bytes; /* written by the recorder: ru_maxrss where it is its own; 0: not known */
    _Atomic uint32_t n_children; /* processes started (fork, vfork and exec, posix_spawn) */
    _Atomic uint32_t
        n_unreported_modules; /* libraries loaded while the table of modules was full */
    /* by the recorder, NUL-padded: an allocator inside the executable, whose blocks are missing */
    char unseen_allocator[LOG_ALLOCATOR_BYTES];
    char unseen_why[LOG_WHY_BYTES];  /* as long as its name is there */
    _Atomic uint32_t bad_handles;    /* groups that no register gave */
    _Atomic uint32_t refused_groups; /* that there was no memory for */
    _Atomic uint32_t stale_exits;    /* of mtrace_exit: ended already, or another thread's */
    uint32_t embedded_status;        /* enum log_embedded */
    uint64_t
        /* mean number of bytes between two sampled bytes; 0: every block is recorded */
        sample_bytes;
    /* by the recorder: files of events that were begun beside a bounded log (LOG_FLAG_BOUNDED) */
    _Atomic uint32_t n_rotated_logs;
    uint32_t pid_space; /* inode of the pid namespace that pid is of; 0: not known */
    /* what is not recorded of libraries that call the C library directly */
    _Atomic uint32_t
        n_deepbound; /* libraries opened with RTLD_DEEPBIND whose constructors were not recorded */
    _Atomic uint32_t
        n_elsewhere; /* maximum number of modules loaded at a time in other namespaces */
    _Atomic uint32_t n_pointers; /* to functions of the allocator, from dlsym */
    _Atomic uint32_t
        n_foreign; /* maximum number of modules loaded at a time with another allocator */
    /* by the recorder, NUL-padded: a known allocator inside the executable, recorded or not */
    char embedded_allocator[LOG_ALLOCATOR_BYTES];
};

/* Stores the machine that this is compiled for. */
static inline void log_file_set_machine(struct log_header *file)
{
    file->arch = log_own_arch();
    file->word_bytes = sizeof(void *);
    file->byte_order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? LOG_BIG_ENDIAN : LOG_LITTLE_ENDIAN;
}

/*
 * A request of the program for a report about itself (mtrace_report) goes over the socket on which
 * the recorder also serves --ctl: SOCK_SEQPACKET, with the abstract name LOG_CONTROL_NAME and the
 * recorder's PID. Numbers are decimal.
 *   1. program   "PID ask RUN_ID"; RUN_ID is that of its log
 *   2. recorder  "go", when it is the turn of this request; "busy", if too many wait: try again
 *   3. program   writes an event LOG_REQUEST_MARKER with the next number of n_markers, then sends
 *                "TICKS NUMBER WORDS": time and number of the marker, words of mtrace-query
 *   4. recorder  "STATUS", 0 or an errno value, and the descriptor of a file with the answer
 * A connection that ends earlier has no answer.
 */
#define LOG_CONTROL_NAME   "mtrace-record."
#define LOG_REQUEST_MARKER "mtrace report "
/* Begins the words of a request for a heap image: "heap-image exit TID SP NAME", or "program" for
 * "exit"; SP: the lowest address of the stack of thread TID that is not the collector's. */
#define LOG_HEAP_IMAGE_WORDS "heap-image "

enum {
    LOG_REQUEST_BYTES = 1536,      /* of the words, with a NUL */
    LOG_REQUEST_PREFIX_BYTES = 64, /* at most, of what precedes them */
};

enum log_request_phase {
    LOG_REQUEST_NONE = 0,
    LOG_REQUEST_TURN = 1,   /* from before "go" until the words are received: the marker may come */
    LOG_REQUEST_POSTED = 2, /* until the answer is sent */
};

/* What began or ended a window. */
enum log_switch {
    LOG_SWITCH_UNKNOWN = 0,
    LOG_SWITCH_SIGNAL = 1,  /* the toggle signal */
    LOG_SWITCH_CONTROL = 2, /* mtrace-record --ctl */
    LOG_SWITCH_TIME = 3,    /* --start-after, --stop-after */
    LOG_SWITCH_SIZE = 4,    /* --start-at-rss */
    LOG_SWITCH_PROGRAM = 5, /* mtrace_tracking */
};

enum log_command {
    LOG_COMMAND_STOP = 0,
    LOG_COMMAND_START = 1,
    LOG_COMMAND_MARK = 2,   /* writes LOG_MARK with `name` */
    LOG_COMMAND_DETACH = 3, /* ends the log: no recorder reads it any more */
};

/* Bits of log_mailbox.wanted; the rest is a number that differs between successive commands. */
enum {
    LOG_WANTED_COMMAND_BITS = 4, /* all but LOG_COMMAND_MARK */
    LOG_WANTED_REASON_BITS = 4,
};

/*
 * What the recorder wants of the program, and what the program did; in the header page of a live
 * log. The recorder writes `wanted`, or name and n_marks, then increments n_given. The program
 * executes the new ones and sets n_handled to the n_given that it read. Until then `wanted` may be
 * replaced, a name may not. The program looks before fork and exec, when it allocates outside of
 * windows, when a thread takes a segment, and in one of its events in every 2^20 ticks.
 */
enum {
    LOG_MAILBOX_OFFSET = 3840,
    LOG_MAILBOX_NAME_BYTES = 64,
};

struct log_mailbox {
    _Atomic uint32_t n_given, n_handled;
    _Atomic uint32_t wanted;    /* enum log_command, enum log_switch, number; 0: nothing yet */
    _Atomic uint32_t n_marks;   /* names given */
    _Atomic uint32_t is_open;   /* by the program; 0: no window is; else each has a number */
    _Atomic uint32_t heartbeat; /* increments while the recorder is alive; its PID may be reused */
    _Atomic uint32_t phase;     /* enum log_request_phase, by the recorder */
    _Atomic uint32_t n_markers; /* by the program */
    char name[LOG_MAILBOX_NAME_BYTES]; /* with its NUL */
};

/*
 * Information of the recorder for readers of a live log, in the header page after struct
 * log_mailbox.
 */
enum {
    LOG_PACKING_OFFSET = 3936,
};

struct log_packing {
    /* Elision watermark: events stamped before it are packed unchanged from now on. It never
     * decreases. 0: nothing is elided. */
    _Atomic uint64_t watermark_ticks;
};

/* ---- segments ------------------------------------------------------------------------------- */

enum log_segment_kind {
    LOG_SEGMENT_EVENTS = 1,   /* event records of one thread at a time */
    LOG_SEGMENT_FALLBACK = 2, /* struct log_fallback_record, of any thread, in no order */
    LOG_SEGMENT_DEFS = 3,     /* struct log_def records */
    LOG_SEGMENT_NODES = 4,    /* struct log_node slots */
};

/*
 * free -> filling -> sealed -> packed -> free, each by a store with release order. The collector
 * writes filling, sealed, and free for unused segments; the recorder writes packed and free.
 */
enum log_segment_state {
    LOG_STATE_FREE = 0,
    LOG_STATE_FILLING = 1,
    LOG_STATE_SEALED = 2,
    LOG_STATE_PACKED = 3, /* its frame is in the packed file */
};

struct log_segment {
    _Atomic uint32_t state; /* enum log_segment_state */
    uint32_t kind;          /* enum log_segment_kind */
    uint64_t sequence;      /* LF-2; starts at 1; 0: never used, or about to be filled again */
    _Atomic uint32_t committed_bytes; /* EVENTS: payload bytes readable (LF-1) */
    _Atomic uint32_t reserved_bytes;  /* FALLBACK, DEFS: payload bytes handed out by fetch_add, may
                                         exceed the payload */
    uint32_t thread;                  /* EVENTS: thread of the first record; 0 = none yet */
    uint32_t index;                   /* of this segment in the file */
    uint64_t base_ticks;              /* EVENTS: times are relative to this (LF-8) */
    uint64_t base_monotonic_ns; /* CLOCK_MONOTONIC read together with base_ticks; 0: not read */
    uint32_t first_node;        /* NODES: id of slot 0 */
    _Atomic uint32_t next;      /* link of the stacks: index + 1, 0 = end */
    uint64_t run_id; /* as in the file header: stale bytes of another file are not a segment */
    _Atomic uint64_t writer; /* EVENTS, FILLING: the writing thread, for the program; 0: none */
    uint64_t reserved[7];
};

/* ---- events --------------------------------------------------------------------------------- */
/*
 * Word 0  bits 0-7 kind, 8-31 low 24 bits of the time, 32-63 node (or what the kind says)
 * Word 1  bits 0-47 address, 48-63 high 16 bits of the time
 * Time = current base + 40 bits; the base is log_segment.base_ticks until a TIME_BASE record.
 * node: stack of the call; LOG_NODE_* when there is none.
 */
#define LOG_EVENT_KIND(length_class, number) (((length_class) << 5) | (number))

enum log_event_kind {
    /* two words */
    LOG_FREE = LOG_EVENT_KIND(1, 0),   /* address was given back; stamped before the real free */
    LOG_THREAD = LOG_EVENT_KIND(1, 1), /* node field: index of the thread of what follows */
    LOG_TIME_BASE =
        LOG_EVENT_KIND(1, 2), /* word 1: new base in ticks, all 64 bits; word 0 has no time */
    LOG_TRACING = LOG_EVENT_KIND(
        1, 3), /* node field: 1 a window begins, 0 it ends; address field: enum log_switch */
    LOG_EXEC_FAILED =
        LOG_EVENT_KIND(1, 4), /* the LOG_END with LOG_END_EXEC before it did not happen */
    LOG_GROUP = LOG_EVENT_KIND(
        1, 5), /* node field: group that what follows is charged to; LOG_GROUP_ROOT at the start of
                  a segment and after LOG_THREAD */
    LOG_MOVE = LOG_EVENT_KIND(1, 6),     /* the block is charged to the group in the node field */
    LOG_POOL_END = LOG_EVENT_KIND(1, 7), /* address field: the pool; all that is in it ends */
    LOG_ELIDED_ALLOCATIONS = LOG_EVENT_KIND(
        1, 8), /* recorder only: node field: allocations of the thread that a LOG_ELIDED counts;
                  address field: most bytes of these that were live at a time */
    LOG_NEXT_OWNER =
        LOG_EVENT_KIND(1, 9), /* this thread reuses the number of an ended thread; blocks of the
                                 two differ */
    /* three words */
    LOG_ALLOC = LOG_EVENT_KIND(
        2, 0), /* word 2: size 40 | slack 16 | LOG_CALL flags 8; stamped after the call */
    LOG_MUNMAP = LOG_EVENT_KIND(2, 1), /* word 2: length */
    LOG_BRK = LOG_EVENT_KIND(2, 2),    /* address: new break; word 2: old break */
    LOG_FORK = LOG_EVENT_KIND(2, 3),   /* in the parent: word 2 = pid of the child */
    LOG_MARK = LOG_EVENT_KIND(2, 4),   /* word 2: id of a LOG_DEF_MARKER */
    LOG_END =
        LOG_EVENT_KIND(2, 5), /* word 2: enum log_end | value << 32; also in the file header */
    LOG_PHASE = LOG_EVENT_KIND(2, 6), /* word 2: LOG_DEF_MARKER id of its name 32, 0 = it ends |
                                         number of the phase << 32 */
    LOG_POOL_ALLOC = LOG_EVENT_KIND(2, 7), /* of the program's own allocator: word 2: size 40 |
                                              LOG_DEF_POOL id 24 */
    LOG_POOL_FREE = LOG_EVENT_KIND(2, 8),  /* word 2: LOG_DEF_POOL id */
    /* a walk over the program's objects: word 2: LOG_DEF_MARKER id of its name, 0: the walk ends |
     * number of the walk << 32 */
    LOG_OBJECT_WALK = LOG_EVENT_KIND(2, 9),
    LOG_OBJECT_WARNING = LOG_EVENT_KIND(2, 10), /* word 2: as of LOG_OBJECT_WALK */
    /* four words */
    LOG_REALLOC = LOG_EVENT_KIND(3, 0), /* address: new; word 2 as ALLOC; word 3: old address 48 |
                                           ticks since the call began 16 */
    LOG_FAILURE = LOG_EVENT_KIND(3, 1), /* an allocation failed: word 2: call flags 8 | errno << 8;
                                           word 3: size; address: 0 or realloc's old block */
    LOG_HEAP_EXTENT =
        LOG_EVENT_KIND(3, 2), /* address: start; word 2: end; word 3: enum log_heap_kind */
    /* residency scan of a private anonymous mapping before it ends: word 2: length; word 3:
     * resident bytes | LOG_RESIDENT_*. First the scanned range, with no bytes, then its runs */
    LOG_RESIDENT = LOG_EVENT_KIND(3, 3),
    LOG_POOL_RESIZE = LOG_EVENT_KIND(3, 4),  /* address: new; word 2 as POOL_ALLOC; word 3: old
                                               address */
    LOG_OBJECT_CLAIM = LOG_EVENT_KIND(3, 5), /* address: of the block; word 2: declared size 40 |
                                                number of the walk 24; word 3: kind
                                                of claim << 32 | its node */
    /* five words */
    LOG_ALLOC_WIDE = LOG_EVENT_KIND(
        4, 0), /* word 2: call flags 8 | alignment_log2 8; word 3: size; word 4: usable */
    LOG_MALLOPT = LOG_EVENT_KIND(4, 1), /* word 2: parameter (malloc_trim: pad); word 3: value; word
                                           4: result 32 | call 0 mallopt, 1 malloc_trim << 32 */
    LOG_MREMAP = LOG_EVENT_KIND(
        4, 2), /* address: new; word 2: old; word 3: old length, 0: the old mapping stays
               (MREMAP_DONTUNMAP, or shared pages mapped twice); word 4: new length */
    /* address: node, from 1 on; word 2: LOG_DEF_MARKER id of its name 32 | enum log_object_kind 8 |
     * number of the walk 24; word 3: parent 32, 0: none | objects 32; word 4: its own bytes */
    LOG_OBJECT_NODE = LOG_EVENT_KIND(4, 3),
    /* recorder only: n blocks that the thread allocated and freed, of one class of sizes and one of
     * lifetimes (lib/totals/report_classes.h); time: of the last free or later. Node: stack;
     * address: log_group_code of both groups 32 | n 16; word 2: free node 32 | 1 if all are
     * temporary 1 | slack in all 31; word 3: bytes in all; word 4: sum of lifetimes in ns */
    LOG_ELIDED = LOG_EVENT_KIND(4, 4),
    /* six words */
    LOG_REALLOC_WIDE = LOG_EVENT_KIND(5, 0), /* word 2: call flags 8 | ticks since the call began
                                                56; word 3: old; word 4: size; word 5: usable */
    LOG_MMAP = LOG_EVENT_KIND(5, 1), /* word 2: length; word 3: prot 16 | flags 32 << 16; word 4: fd
                                        32 | LOG_DEF_PATH id << 32, 0 = none; word 5: file offset */
    /* class 6: eight words; class 7: length in words in bits 0-15 of word 2; none yet */
};

/* Above the bytes of a LOG_RESIDENT. */
#define LOG_RESIDENT_CONTINUES (1ull << 63) /* one run of a residency scan */
#define LOG_RESIDENT_UNKNOWN   (1ull << 62) /* not scanned */

/* Records that change how the next ones are read; not counted as events. */
static inline bool log_event_is_bookkeeping(unsigned kind)
{
    return kind == LOG_THREAD || kind == LOG_TIME_BASE || kind == LOG_GROUP
           || kind == LOG_NEXT_OWNER;
}

/* Groups that exist without a definition (include/mtrace.h). */
enum {
    LOG_GROUP_UNTRACKED = 0,
    LOG_GROUP_ROOT = 1,
};

/* Encodes a group such that 0 is LOG_GROUP_ROOT. Its own inverse. */
static inline uint32_t log_group_code(uint32_t group)
{
    return group ^ LOG_GROUP_ROOT;
}

/* Words of an event of length class 0..6; an event of class 7 has its length in word 2. */
static inline unsigned log_event_words(unsigned kind)
{
    static const uint8_t words[8] = {1, 2, 3, 4, 5, 6, 8, 0};
    return words[(kind >> 5) & 7];
}

enum {
    LOG_EVENT_MIN_WORDS = 1,
    LOG_EVENT_MAX_WORDS = 512
};

/* Low 5 bits of the call flags: which function the program called. Also kinds.kind of the
 * database. */
enum log_call {
    LOG_CALL_MALLOC = 0,
    LOG_CALL_CALLOC = 1,
    LOG_CALL_REALLOC = 2,
    LOG_CALL_REALLOCARRAY = 3,
    LOG_CALL_POSIX_MEMALIGN = 4,
    LOG_CALL_ALIGNED_ALLOC = 5,
    LOG_CALL_MEMALIGN = 6,
    LOG_CALL_VALLOC = 7,
    LOG_CALL_PVALLOC = 8,
    LOG_CALL_MALLOCX = 9, /* jemalloc's own entry points */
    LOG_CALL_RALLOCX = 10,
    LOG_CALL_NEW = 11, /* an operator new of an allocator that does not call malloc by name */
    LOG_CALL_MASK = 31,
    /* flags beside it, from glibc's chunk header */
    LOG_CHUNK_KNOWN = 1 << 5,    /* the allocator is glibc's and the next two are meant */
    LOG_CHUNK_MMAPPED = 1 << 6,  /* the block has a mapping of its own */
    LOG_CHUNK_NON_MAIN = 1 << 7, /* in an arena other than the main one */
};

enum {
    LOG_SIZE_BITS =
        40, /* of a narrow event; larger sizes, slacks and all explicit alignments are WIDE */
    LOG_SLACK_BITS = 16,
    LOG_ADDRESS_BITS = 48,
    LOG_TIME_BITS = 40,
    LOG_DURATION_BITS = 16,
    LOG_POOL_BITS = 24,
};

enum log_object_kind {
    LOG_OBJECT_ROOT = 0,
    LOG_OBJECT_FIELD = 1,   /* part of its parent */
    LOG_OBJECT_POINTER = 2, /* part of its parent; its children are not */
    LOG_OBJECT_BLOCK = 3,   /* owned by a pointer, or a root object */
    LOG_OBJECT_UNUSED = 4,  /* spare capacity of a block */
    LOG_OBJECT_OPAQUE = 5,  /* part of its parent that was not visited */
    LOG_OBJECT_PADDING = 6, /* bytes of no member of its parent */
};

enum log_heap_kind {
    LOG_HEAP_BRK = 1,
    LOG_HEAP_ARENA = 2,
    LOG_HEAP_OTHER = 3
};

/*
 * FALLBACK segments: events of callers without a usable thread state. fetch_add on reserved_bytes
 * reserves a slot. It is valid when `valid` is LOG_FALLBACK_VALID, which is stored last with
 * release order.
 */
#define LOG_FALLBACK_VALID 0x4d534944u

struct log_fallback_record {
    uint64_t words[6]; /* an event of at most six words; its 40 bits of time: log_group_code of the
                          group */
    uint64_t ticks;    /* its absolute time */
    uint32_t thread;   /* thread index; 0: unknown, or its index was reused (LOG_NEXT_OWNER) */
    _Atomic uint32_t valid;
};

/* ---- stack tree ----------------------------------------------------------------------------- */
/*
 * Node ids are dense. The first ones are reserved: they are the roots of the tree and tell how the
 * walk of a stack ended.
 */
enum {
    LOG_NODE_NONE = 0,      /* no stack was taken */
    LOG_NODE_COMPLETE = 1,  /* parent of outermost frames reached at the end of the stack */
    LOG_NODE_TRUNCATED = 2, /* the walk stopped before the end (depth limit, no CFI, no memory) */
    LOG_NODE_GUESSED = 3,   /* at least one step was guessed (frame pointer in code without CFI) */
    LOG_NODE_FIRST = 8,     /* first id with a slot that means something */
    LOG_NODES_PER_SEGMENT = LOG_SEGMENT_PAYLOAD_BYTES / 16,
};

/* A NODES slot. Slot i of a segment is node first_node + i. All zero: never committed. */
struct log_node {
    uint32_t parent;          /* node of the caller, or one of the roots */
    uint32_t module;          /* LOG_DEF_MODULE id whose code this is; 0 = none (JIT) */
    _Atomic uint64_t address; /* LOG_NODE_EXACT | code address; stored last, release */
};

#define LOG_NODE_EXACT \
    (1ull << 63) /* an interrupted pc; else a return address, to be looked up one byte before */

/* ---- definitions ---------------------------------------------------------------------------- */
/*
 * A record starts at a multiple of LOG_DEF_ALIGN. fetch_add on reserved_bytes reserves its space;
 * `magic` is stored last with release order. A reader that finds no magic tries the next multiple,
 * since a writer may have died there. text_bytes bytes of text without NUL follow the fixed part.
 */
#define LOG_DEF_MAGIC 0x4d444546u

enum {
    LOG_DEF_ALIGN = 64,
    LOG_DEF_MAX_BYTES = 8192
};

enum log_def_kind {
    LOG_DEF_PROCESS = 1, /* text: executable path NUL argument NUL argument NUL … */
    LOG_DEF_MODULE = 2,  /* id; a = load address (l_addr), b = start of the mapping, c = its length;
                            extra = build-id length; text: build-id bytes, then path */
    /* id; unloaded at ticks; defined again: the same file came back; missing for a file that came
     * back often */
    LOG_DEF_MODULE_END = 3,
    LOG_DEF_THREAD = 4,      /* id = thread index; a = tid, b = lowest address of its stack, c = its
                                length, both 0 when not known; main's as far as it may grow */
    LOG_DEF_THREAD_NAME = 5, /* id; text: name */
    LOG_DEF_THREAD_END = 6,  /* id */
    LOG_DEF_PATH = 7,        /* id; text: path of a mapped file */
    LOG_DEF_MARKER = 8,      /* id; text: name */
    LOG_DEF_CHILD = 9,       /* a = pid, b = run_id of the child or 0; extra = enum log_child; text:
                                path of its log */
    LOG_DEF_MESSAGE = 10,    /* text: one line of diagnostics of the collector */
    LOG_DEF_SETTING = 11,    /* text: NAME=value in force */
    LOG_DEF_GROUP = 12,      /* id; text: name, then key NUL value of each tag, with NULs between */
    LOG_DEF_POOL = 13,       /* id; text: name */
    /* id of a module; a = key of its file, not 0: modules with one key have the same file */
    LOG_DEF_FILE = 14,
    LOG_DEF_FILE_PART = 15, /* a = key of a file, b = offset in it; text: its bytes there */
};

/* Of LOG_DEF_CHILD; the latest one counts. */
enum log_child {
    LOG_CHILD_BEGINS = 0,
    LOG_CHILD_CAME_TO_NOTHING = 1, /* its exec failed: it is its parent's after all */
};

struct log_def {
    uint8_t kind; /* enum log_def_kind */
    uint8_t reserved8;
    uint16_t text_bytes;    /* behind this header */
    _Atomic uint32_t magic; /* LOG_DEF_MAGIC, stored last */
    uint32_t id;
    uint32_t extra;
    uint64_t ticks;
    uint64_t a;
    uint64_t b;
    uint64_t c;
};

/* ---- packed files --------------------------------------------------------------------------- */

#define LOG_FRAME_MAGIC 0x4652544du /* "MTRF" */

/* In place of the first frame of a log whose frames are in rotated files (--no-local), 8 bytes. */
#define LOG_ROTATED_MAGIC "mtrSENT\n"

/* Offset in the header page of such a rotated file: the offset of its first frame in the sent log
 * (uint64_t). */
#define LOG_ROTATED_BEGIN_AT 4088

enum log_frame_kind {
    LOG_FRAME_SEGMENT = 1, /* a segment, or for DEFS and NODES the part [first_byte, first_byte +
                              raw_bytes) of its payload */
    LOG_FRAME_SAMPLES = 2, /* array of struct log_sample */
    LOG_FRAME_TRAILER =
        3, /* the struct log_header as it was when the log was finished; the last one counts */
};

enum log_codec {
    LOG_CODEC_STORED = 0,  /* payload as in the segment */
    LOG_CODEC_ZSTD = 1,    /* the same through zstd */
    LOG_CODEC_COLUMNS = 2, /* EVENTS: columns of docs/log-format.md §packed */
    LOG_CODEC_NODES = 3,   /* NODES: columns of the same section */
};

/* payload_bytes bytes follow, then zeros up to a multiple of 8. Any field out of range: the frame
 * is damaged. */
struct log_frame {
    uint32_t magic;           /* LOG_FRAME_MAGIC */
    uint32_t header_checksum; /* low 32 bits of XXH64 (seed 0) over this struct with this field 0 */
    uint16_t kind;            /* enum log_frame_kind */
    uint16_t codec;           /* enum log_codec */
    uint32_t payload_bytes;   /* as stored */
    uint32_t raw_bytes;       /* after decoding */
    uint32_t first_byte;      /* DEFS, NODES: offset in the segment's payload */
    uint64_t payload_checksum; /* XXH64 (seed 0) over the stored payload */
    uint64_t run_id;
    uint64_t n_events;          /* of an EVENTS or FALLBACK frame, without bookkeeping */
    struct log_segment segment; /* as in the raw file; state and links mean nothing */
};

enum log_sample_kind {
    LOG_SAMPLE_MEMORY = 1, /* a = rss, b = anonymous, c = file bytes */
    LOG_SAMPLE_HEAP = 2,   /* a = start, b = end of a heap, c = enum log_heap_kind */
    LOG_SAMPLE_MAPPING =
        3, /* a = start, b = end of mapped file or shared memory, c = its rss bytes */
    /* the resident part of mtrace itself in the MEMORY sample behind it: a = pages of files (its
     * log, its library), b = private pages of its library */
    LOG_SAMPLE_OWN = 4,
    /* The next three: private memory without a file; a, b, c as of a MAPPING. */
    LOG_SAMPLE_PRIVATE = 5,
    LOG_SAMPLE_MODULE_DATA = 6, /* directly behind data of a file: its zero-initialized part */
    LOG_SAMPLE_NOT_DUMPED = 7,  /* MADV_DONTDUMP, as the collector's own mappings */
    /* The MEMORY sample of the same time is of smaps, and all its mappings were reported: a = rss
     * bytes of the main stack, b = of shared memory, c = of files, without OWN. */
    LOG_SAMPLE_PARTS = 8,
};

/* A memory sample, taken by the recorder. */
struct log_sample {
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC */
    uint64_t kind;         /* enum log_sample_kind */
    uint64_t a, b, c;
};

/* ---- the layout (LF-10) ---------------------------------------------------------------------- */

#define LOG_AT(structure, field, offset) \
    _Static_assert(offsetof(struct structure, field) == (offset), #structure "." #field)

LOG_AT(log_header, arch, 16);
LOG_AT(log_header, byte_order, 19);
LOG_AT(log_header, clock, 28);
LOG_AT(log_header, run_id, 32);
LOG_AT(log_header, start_ticks, 64);
LOG_AT(log_header, n_segments, 136);
LOG_AT(log_header, next_sequence, 144);
LOG_AT(log_header, dropped, 176);
LOG_AT(log_header, max_rss_bytes, 264);
LOG_AT(log_header, unseen_allocator, 280);
LOG_AT(log_header, sample_bytes, 480);
LOG_AT(log_header, embedded_allocator, 512);
_Static_assert(sizeof(struct log_header) == 536, "header");
_Static_assert(sizeof(struct log_header) <= LOG_MAILBOX_OFFSET, "header page");
_Static_assert(sizeof(struct log_mailbox) == 96, "mailbox");
_Static_assert(LOG_MAILBOX_OFFSET + sizeof(struct log_mailbox) <= LOG_PACKING_OFFSET,
               "header page");
_Static_assert(LOG_PACKING_OFFSET + sizeof(struct log_packing) <= LOG_FILE_HEADER_BYTES,
               "header page");
LOG_AT(log_segment, sequence, 8);
LOG_AT(log_segment, base_ticks, 32);
LOG_AT(log_segment, run_id, 56);
LOG_AT(log_segment, writer, 64);
_Static_assert(sizeof(struct log_segment) == LOG_SEGMENT_HEADER_BYTES, "segment header");
LOG_AT(log_fallback_record, ticks, 48);
_Static_assert(sizeof(struct log_fallback_record) == 64, "fallback record");
LOG_AT(log_node, address, 8);
_Static_assert(sizeof(struct log_node) == 16, "node");
LOG_AT(log_def, ticks, 16);
_Static_assert(sizeof(struct log_def) == 48, "definition");
LOG_AT(log_frame, payload_checksum, 24);
LOG_AT(log_frame, segment, 48);
_Static_assert(sizeof(struct log_frame) == 48 + LOG_SEGMENT_HEADER_BYTES, "frame");
_Static_assert(sizeof(struct log_sample) == 40, "sample");

#undef LOG_AT

/* In the header page of a pool, which is mapped whole. */
static inline struct log_mailbox *log_mailbox_of(struct log_header *file)
{
    return (struct log_mailbox *)(void *)((unsigned char *)file + LOG_MAILBOX_OFFSET);
}

#endif
