/* SPDX-License-Identifier: MIT */
/*
 * thread: what the collector knows about the calling thread, and the gate through which a recording
 * enters and leaves.
 *
 *              first event               thread_leave
 *      unseen ────────────► inside ────────────────────► ready
 *        │                    ▲                            │
 *        │                    └──────── thread_enter ──────┤
 *        │                                                 │ key destructor, last round
 *        │ (child of fork: all threads are unseen again)   ▼
 *        └───────────────────────────────────────────►   dead
 *
 *      inside + a nested call (signal handler, or ourselves)  -> the shared side segment
 *      inside + a call that proves the recording abandoned (TH-4) -> inside, with nothing remembered
 *      inside in the parent of a fork (the handler forked): the process is stranded, and records
 *          nothing until the handler has returned and the interrupted recording has ended
 *      dead   + a call (a later destructor of the same round) -> the shared side segment, with signals blocked
 *      key destructor rounds before the last leave the thread ready ("dying"): others free there.
 *
 * Invariants
 *   TH-1 gate == *g_state_generation exactly when the thread is ready and belongs to this process. A fork
 *        child finds *g_state_generation 0 (MADV_WIPEONFORK), whatever call made it. Generations are
 *        even, a closed gate is odd. It is compared again once the gate is closed: a handler that
 *        forked before that found it open.
 *   TH-2 Fields below `gate` are touched only between thread_enter and thread_leave, but for TH-6.
 *   TH-3 segment, if not NULL, is FILLING and only this thread writes it, or is in no log any more (SG-6).
 *   TH-4 A recording that a signal handler left by siglongjmp never ends. The gate says where its wrapper
 *        was called: W, the end of its frame record (on x86-64 the stack pointer after its return), and
 *        the lowest 16 bits of the return address, which is at W - 8 as long as the recording can go on, because nothing but the wrapper's return frees
 *        that word. So it was abandoned when a call, at F, finds that
 *          (a) its own frames, from the stack pointer up to F, are where that word was; or
 *          (b) the word is another one, or its page is gone, whatever stack it was on; or
 *          (c) W and F are on the thread's own stack, F above W, and F is on no alternate signal stack.
 *              Handlers run below what they interrupt, and so does all that they call; F does not.
 *        In all other cases the recording may go on, and the call is refused: handlers on the same
 *        stack (F below W), on alternate ones and coroutines (the word is unchanged). Not so for a
 *        stack made of a piece of the thread's own that a handler switches away from or to in the
 *        middle of a malloc by setcontext: (c) does not hold there, nor does anything malloc promises.
 *   TH-5 Whatever instruction a recording was abandoned at, what it leaves is as if it had been killed
 *        there, which the log bears (LF-1), or lost to the thread (a segment that nobody fills on is
 *        read at the end). What is worse, because it takes several stores, has signals blocked:
 *        growth of the pool, of the tables and of remembered frames, a new module and a name. What
 *        the thread alone remembers names what it is about last; all of it is forgotten, also where
 *        the thread's end is the next that is heard of it: another thread gets it then.
 *   TH-6 group is set at any time, by the thread and its signal handlers; whoever sets it clears
 *        `limit` behind it, so that the next event finds no room and looks (record.c). A handler
 *        that leaves the group as it found it may do both inside of a recording.
 * Threads: each its own. Signals: a handler sees either side of the gate's one store.
 */
#ifndef MTRACE_COLLECTOR_THREAD_H
#define MTRACE_COLLECTOR_THREAD_H

#include "collector/arch/arch.h"
#include "collector/thread/state.h"
#include "collector/unwind/unwind.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A closed gate: odd; above the lowest bit W (TH-4), 0 for none, and above that bits of the pc. */
enum {
    THREAD_GUARD_CLOSED = 1,
    THREAD_GUARD_PC_SHIFT = 48,
    THREAD_SCOPE_PIECES = 12,
    THREAD_SCOPE_BYTES = 4096, /* of the first piece */
};

/* Where the program called the wrapper that this is written in (built with frame pointers). */
#if ARCH_HAS_FIXED_RA
#    define RECORD_ORIGIN()                                                         \
        {                                                                           \
            .pc = ARCH_RETURN_ADDRESS(), .cfa = ARCH_CFA(), .fp = ARCH_CALLER_FP(), \
        }
#else
#    define RECORD_ORIGIN()                                                         \
        {                                                                           \
            .pc = ARCH_RETURN_ADDRESS(), .cfa = ARCH_CFA(), .fp = ARCH_CALLER_FP(), \
            .record = ARCH_RECORD(),                                                \
        }
#endif

enum {
    THREAD_LINE_BYTES = 64
};

/* The first line of the cache is what each event touches, and all that a guarded call does which is no event (recursion_guard.h): of a
 * program that does much between two calls, other lines would not be there. */
struct thread {
    _Alignas(THREAD_LINE_BYTES) uint64_t guard;
    uint64_t *cursor; /* next free word of the segment */
    uint64_t *limit;  /* last word at which a record of any kind still fits */
    struct log_segment *segment;
    uint64_t base_ticks;    /* times in the segment are relative to this now */
    uint64_t last_ticks;    /* of the last record: LF-6 */
    uint64_t outer_guard;   /* what the gate was outside of the guarded call; recursion_guard.h */
    uintptr_t outer_frame;  /* of the guard */
    uint32_t group;         /* that events are charged to from now on: TH-6 */
    uint32_t written_group; /* the last one that the segment names */
    struct unwind_memory unwind;
    uint64_t generation; /* of the process that the fields are about; 0 = unseen */
    uint32_t index;      /* in the log; 0 = not defined yet, or given back (TN-1) */
    bool is_next_owner;  /* of its number, and the log does not say so yet */
    bool is_dead;
    bool is_forking;  /* its handler, which interrupted a recording, is about to fork, or did */
    bool is_execing;  /* thread_will_exec; the gate is closed */
    bool is_muted;    /* nested calls are our own oracle's: not recorded */
    uint8_t n_rounds; /* key destructor rounds seen */
    uintptr_t *walk;  /* scratch of the oracle's walks, of walk_bytes */
    size_t walk_bytes;
    void *exec_scratch; /* environment for an exec, of exec_scratch_bytes */
    size_t exec_scratch_bytes;
    void *scope_pieces[THREAD_SCOPE_PIECES]; /* of scopes.c, each twice as long as the one before */
    void (*left)(void); /* ends what the thread will not come back to, when it ends; or NULL */
};

extern MTRACE_HIDDEN _Thread_local struct thread g_thread
    __attribute__((tls_model("initial-exec")));

/* Nested calls are our own oracle's, or the allocator's. */
static inline bool thread_is_muted(const struct thread *thread)
{
    return thread->outer_guard != 0 || thread->is_muted;
}

MTRACE_NODISCARD struct thread *thread_enter_slow(const struct unwind_origin *origin);

/* What the gate is while a recording for this caller goes on. */
static inline uint64_t thread_guard_of(const struct unwind_origin *origin)
{
    return ((uint64_t)origin->pc << THREAD_GUARD_PC_SHIFT) + unwind_origin_end(origin)
           + THREAD_GUARD_CLOSED;
}

/*
 * The calling thread, now inside; NULL: record nothing, or into the side segment (record.c asks
 * state.h). Compared before it is closed: a refused call leaves the mark of who is inside (TH-4). And
 * again once it is closed: a handler that forked in between found it open.
 */
MTRACE_NODISCARD static inline struct thread *thread_enter(const struct unwind_origin *origin)
{
    struct thread *thread = &g_thread;
    const _Atomic uint64_t *generation = g_state_generation;
    uint64_t guard = thread->guard;

    if (mtrace_unlikely(guard != atomic_load_explicit(generation, memory_order_relaxed)))
        return thread_enter_slow(origin);
    thread->guard = thread_guard_of(origin);
    atomic_signal_fence(memory_order_seq_cst);
    if (mtrace_unlikely(guard != atomic_load_explicit(generation, memory_order_relaxed))) {
        thread->guard = guard;
        return thread_enter_slow(origin);
    }
    return thread;
}

static inline void thread_leave(struct thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = thread->generation;
}

/*
 * Around a fork. A signal handler that calls it may have interrupted a recording of this thread. In
 * the child its code goes on when the handler returns: with all it needs in memory, but with no log
 * behind it. begins: true when that is so, and then `ended` is due in both processes.
 */
bool thread_fork_begins(void);
void thread_fork_ended(bool is_child);

/* In a fork child, where a log shall begin: not before an interrupted recording has ended. */
bool thread_is_stranded(void);

/* An event of the caller cannot be recorded, because of that; and how many such there were. */
void thread_count_stranded(void);
uint32_t thread_n_stranded(void);

/*
 * Around a look at the log by who records nothing there: a fork is told as in a recording, and the thread becomes none that is seen
 * by it. False: there is no log, or this thread is not to look; else `ended` is due, with *ret_guard.
 */
bool thread_look_begins(const struct unwind_origin *origin, uint64_t *ret_guard);
void thread_look_ended(uint64_t guard);

/* The next event looks at its segment first (reservation_make_slow). */
static inline void thread_look_again(void)
{
    g_thread.limit = NULL;
}

/* TH-6. An event costs nothing for it; the first one after it is written the slow way. */
static inline void thread_set_group(uint32_t group)
{
    g_thread.group = group;
    atomic_signal_fence(memory_order_seq_cst);
    thread_look_again();
}

enum {
    THREAD_SPARE_WORDS = 10, /* behind `limit`: a time base, a group, and the longest event */
};

/* What `limit` is of a segment. */
static inline uint64_t *thread_limit_of(struct log_segment *segment)
{
    unsigned char *end = (unsigned char *)segment + LOG_SEGMENT_BYTES;

    return (uint64_t *)(void *)end - THREAD_SPARE_WORDS;
}

/*
 * The calling thread is about to exec, or else a vfork child that runs in its memory: behind a seccomp
 * filter the two cannot be told apart. Its next event shows that it was the child, or that it failed,
 * and calls `came_back` first. False: it is in the middle of a recording.
 */
bool thread_will_exec(void (*came_back)(void));

/* It is known already that it came back: nothing is called. */
void thread_came_back(void);

/* Finds libc's functions and makes the key whose destructor ends threads. Once per process image. */
void thread_init(void);

/* Bounds of the calling thread's stack, told by the pthread_create wrapper; main's are found. */
void thread_set_stack(uintptr_t low, uintptr_t high);

/* The thread got a name (NULL: ask the kernel). `of`: TLS of any living thread. Inside of a recording, or quiet. */
void thread_define_name(const struct thread *of, const char *name);

static inline bool thread_is_on_own_stack(const struct thread *thread, uintptr_t at)
{
    return at > thread->unwind.stack_low && at <= thread->unwind.stack_high;
}

/* Who was at `frame`, of whatever thread, was on the stack of this one and has left it by longjmp, as it is at `now`, and no deeper than it was; a handler
 * that interrupts it is deeper, or on another stack. */
bool thread_has_left(const struct thread *thread, uintptr_t frame, uintptr_t now);

/* pthread_self of the calling thread. */
uintptr_t thread_self(void);

/* The stack that pthread_create makes with these attributes; NULL: with none. */
size_t thread_stack_bytes(const pthread_attr_t *attributes);

/* g_thread of another thread of this process. */
struct thread *thread_of(uintptr_t other);

#endif
