/* SPDX-License-Identifier: MIT */
/*
 * thread: state of the calling thread, and the recursion guard around the recording of an event.
 *
 *              first event               thread_leave
 *      unseen ────────────► inside ────────────────────► ready
 *        │                    ▲                            │
 *        │                    └──────── thread_enter ──────┤
 *        │                                                 │ key destructor, last round
 *        │ (in a fork child all threads are unseen again)  ▼
 *        └───────────────────────────────────────────►   dead
 *
 *      inside + a nested call (signal handler, or the collector itself): the shared fallback
 *          segment
 *      inside + a call that proves the recording abandoned (TH-4): inside again, with nothing
 *          remembered
 *      inside + a signal handler forks: the child records nothing until the handler has returned
 *          and the interrupted recording has ended (it is stranded)
 *      dead + a call from a later destructor: the shared fallback segment, with signals blocked
 *      Earlier rounds of key destructors leave the thread ready, since other destructors free
 *      blocks.
 *
 * Invariants
 *   TH-1 guard == *g_state_generation exactly when the thread is ready and belongs to this process.
 *        In a fork child *g_state_generation is 0 (MADV_WIPEONFORK). Generations are even, a closed
 *        guard is odd. thread_enter compares again after it closed the guard: a signal handler may
 *        have forked.
 *   TH-2 Fields after `guard` are used only between thread_enter and thread_leave, except for TH-6.
 *   TH-3 segment, if not NULL, is FILLING and only this thread writes it, or it is in no log
 *        (SG-6).
 *   TH-4 Abandoned recordings. A signal handler may leave the collector by siglongjmp, so
 *        thread_leave never runs and the guard would reject every later call. To detect this, the
 *        guard stores where the wrapper was called: W, the stack address just above the wrapper's
 *        return address, and the low 16 bits of the return address. A later call with frame address
 *        F proves that the recording was abandoned if
 *          (a) the word before W lies inside the frames of the new call, or
 *          (b) that word no longer holds the return address, or its page is gone, or
 *          (c) F and W are on the thread's own stack, F is above W, and F is not on an alternate
 *              signal stack: signal handlers always run below what they interrupt.
 *        Otherwise the earlier recording may still resume, and the new call uses the fallback
 *        segment. Known gap: coroutine stacks inside the thread's own stack, switched by setcontext
 *        inside malloc.
 *   TH-5 An abandoned recording leaves the log as SIGKILL would at that instruction (LF-1). Changes
 *        that need several stores have signals blocked: growth of the pool, of tables and of
 *        remembered frames, a new module, a name. The thread forgets all that it remembered.
 *   TH-6 group may be set at any time, also by signal handlers. The setter then clears `limit`, so
 *        that the next event takes the slow path and writes the group (reservation.c).
 *   TN-1 A number belongs to one thread at a time. What the thread wrote under it is in its segment
 *        before another thread gets the number, and the next owner writes LOG_NEXT_OWNER first.
 *
 * Events of late destructors have the number 0: unknown. A number that finds no place among the
 * waiting ones is not used again.
 *
 * Each thread uses its own state. A signal handler sees either side of the one store to the guard.
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

/* ---- numbers of threads ---- */

/*
 * Numbers of threads in the log are 1, 2, … in the order of first events. With a limit `most`
 * (MTRACE_MAX_THREADS), numbers up to it belong to one thread for good. Numbers above it are
 * reused: a thread that ends leaves its number to the next that begins. So there are about as many
 * as threads lived at the same time.
 */
enum {
    THREAD_NUMBERS_WAITING = 1024
};

/* True if the number is reused by other threads. most 0: no number is. */
static inline bool thread_numbers_is_shared(uint32_t number, uint32_t most)
{
    return most && number > most;
}

/* Takes a number. *ret_is_new: no thread of this log had it before. */
uint32_t thread_numbers_take(bool *ret_is_new);

/* Returns a shared number. Its thread has ended. */
void thread_numbers_leave(uint32_t number);

/* For a new log. */
void thread_numbers_forget(void);

/* ---- the thread ---- */

/* A closed guard: bit 0 is set; then W (TH-4; 0: none), then bits of the return address. */
enum {
    THREAD_GUARD_CLOSED = 1,
    THREAD_GUARD_PC_SHIFT = 48,
    THREAD_SCOPE_PIECES = 12,
    THREAD_SCOPE_BYTES = 4096, /* of the first piece */
};

/* The call of the wrapper that uses this macro. Needs frame pointers. */
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

/* The first cache line has all that an event, or a guarded call (allocator_guard.h), uses. */
struct thread {
    _Alignas(THREAD_LINE_BYTES) uint64_t guard;
    uint64_t *cursor; /* next free word of the segment */
    uint64_t *limit;  /* last word at which a record of any kind still fits */
    struct log_segment *segment;
    uint64_t base_ticks;    /* times in the segment are relative to this now */
    uint64_t last_ticks;    /* of the last record: LF-6 */
    uint64_t slow_ticks;    /* from here on: the slow path, for a new base or the mailbox (RO-4) */
    uint64_t outer_guard;   /* value outside of a guarded call; allocator_guard.h */
    uintptr_t outer_frame;  /* of that call */
    uint32_t group;         /* that events are charged to from now on: TH-6 */
    uint32_t written_group; /* the last one that the segment names */
    struct unwind_memory unwind;
    uint64_t generation; /* of the process that the fields are about; 0 = unseen */
    uint32_t index;      /* in the log; 0: not defined yet, or returned (TN-1) */
    bool is_next_owner;  /* the index was another thread's; the log does not say so yet */
    bool is_dead;
    bool is_forking;  /* a handler that interrupted a recording forks, or did */
    bool is_execing;  /* thread_will_exec; the guard is closed */
    bool is_muted;    /* nested calls come from the reference unwinder: not recorded */
    uint8_t n_rounds; /* key destructor rounds seen */
    uintptr_t *walk;  /* scratch of the reference unwinder, of walk_bytes */
    size_t walk_bytes;
    void *exec_scratch; /* environment for an exec, of exec_scratch_bytes */
    size_t exec_scratch_bytes;
    void *scope_pieces[THREAD_SCOPE_PIECES]; /* of scopes.c, each twice as long as the one before */
    void (*left)(void);                      /* called when the thread ends; may be NULL */
};

extern MTRACE_HIDDEN _Thread_local struct thread g_thread
    __attribute__((tls_model("initial-exec")));

/* Nested calls come from the reference unwinder or the allocator. */
static inline bool thread_is_muted(const struct thread *thread)
{
    return thread->outer_guard != 0 || thread->is_muted;
}

MTRACE_NODISCARD struct thread *thread_enter_slow(const struct unwind_origin *origin);

/* The value of the guard while a call of this origin is recorded. */
static inline uint64_t thread_guard_of(const struct unwind_origin *origin)
{
    return ((uint64_t)origin->pc << THREAD_GUARD_PC_SHIFT) + unwind_origin_end(origin)
           + THREAD_GUARD_CLOSED;
}

/*
 * Closes the guard and returns the calling thread. NULL: do not record, or use the fallback
 * segment. The guard is compared before it is closed, so that a nested call does not overwrite it
 * (TH-4), and again after it was closed (TH-1).
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
 * Around a fork by a signal handler that may have interrupted a recording of this thread. In the
 * child the interrupted code continues when the handler returns, on private memory in place of the
 * log. If thread_fork_begins returns true, call thread_fork_ended in both processes.
 */
bool thread_fork_begins(void);
void thread_fork_ended(bool is_child);

/* In a fork child: an interrupted recording has not ended, so the child cannot begin its log
 * yet. */
bool thread_is_stranded(void);

/* Counts events that are not recorded because of that. */
void thread_count_stranded(void);
uint32_t thread_n_stranded(void);

/* Forgets what the calling thread remembers of its stack if that is about the process before a
 * fork, or about an earlier recording: it may be unmapped. */
void thread_forget_unmapped(void);

/*
 * Around reading the log without recording an event: a fork in a signal handler is detected as in a
 * recording. False: there is no log. Otherwise call thread_read_end with *ret_guard.
 */
bool thread_read_begin(const struct unwind_origin *origin, uint64_t *ret_guard);
void thread_read_end(uint64_t guard);

/* The next event looks at its segment first (reservation_make_slow). */
static inline void thread_force_slow_path(void)
{
    g_thread.limit = NULL;
}

/* TH-6 */
static inline void thread_set_group(uint32_t group)
{
    g_thread.group = group;
    atomic_signal_fence(memory_order_seq_cst);
    thread_force_slow_path();
}

enum {
    THREAD_SPARE_WORDS = 10, /* after `limit`: a time base, a group, and the longest event */
};

/* The value of `limit` for a segment. */
static inline uint64_t *thread_limit_of(struct log_segment *segment)
{
    unsigned char *end = (unsigned char *)segment + LOG_SEGMENT_BYTES;

    return (uint64_t *)(void *)end - THREAD_SPARE_WORDS;
}

/*
 * Before an exec of the calling thread, or of a vfork child in its memory (with a seccomp filter
 * the two look the same). If the exec fails, or was the child's, the thread's next event calls
 * `came_back` first. False: the thread is inside a recording.
 */
bool thread_will_exec(void (*came_back)(void));

/* After a failed exec; `came_back` is not called any more. */
void thread_came_back(void);

/* Finds libc's functions and creates the key whose destructor ends threads. Once per process
 * image. */
void thread_init(void);

/* Sets the bounds of the calling thread's stack; from the pthread_create wrapper. */
void thread_set_stack(uintptr_t low, uintptr_t high);

/* Writes the name of a living thread (NULL: the kernel's). Inside a recording or a quiet
 * section. */
void thread_define_name(const struct thread *of, const char *name);

static inline bool thread_is_on_own_stack(const struct thread *thread, uintptr_t at)
{
    return at > thread->unwind.stack_low && at <= thread->unwind.stack_high;
}

/* True if a call at `frame` on this thread's stack was left by longjmp: the thread is at `now`, not
 * deeper on the same stack. */
bool thread_has_left(const struct thread *thread, uintptr_t frame, uintptr_t now);

/* pthread_self of the calling thread. */
uintptr_t thread_self(void);

/* The stack that pthread_create makes with these attributes; NULL: with none. */
size_t thread_stack_bytes(const pthread_attr_t *attributes);

/* g_thread of another thread of this process. */
struct thread *thread_of(uintptr_t other);

#endif
