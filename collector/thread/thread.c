/* SPDX-License-Identifier: MIT */
#include "collector/thread/thread.h"

#include "collector/log/definition.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "collector/unwind/own_stacks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/resource.h>

/* ---- numbers of threads ---- */

static _Atomic uint32_t g_last;
static _Atomic uint32_t g_n_waiting;                       /* maybe too high for a moment */
static _Atomic uint32_t g_waiting[THREAD_NUMBERS_WAITING]; /* 0: a free place */

/* Acquire: what the previous thread of the number wrote comes before what this one writes. */
static uint32_t take_waiting(void)
{
    if (atomic_load_explicit(&g_n_waiting, memory_order_relaxed) == 0)
        return 0;
    for (uint32_t i = 0; i < THREAD_NUMBERS_WAITING; i++) {
        uint32_t number = atomic_load_explicit(&g_waiting[i], memory_order_relaxed);
        if (number
            && atomic_compare_exchange_strong_explicit(
                &g_waiting[i], &number, 0, memory_order_acquire, memory_order_relaxed)) {
            atomic_fetch_sub_explicit(&g_n_waiting, 1, memory_order_relaxed);
            return number;
        }
    }
    return 0;
}

uint32_t thread_numbers_take(bool *ret_is_new)
{
    uint32_t number = take_waiting();

    *ret_is_new = number == 0;
    return number ? number : atomic_fetch_add_explicit(&g_last, 1, memory_order_relaxed) + 1;
}

/* Counts first, so that the count is never too low. */
void thread_numbers_leave(uint32_t number)
{
    atomic_fetch_add_explicit(&g_n_waiting, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < THREAD_NUMBERS_WAITING; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong_explicit(&g_waiting[i], &none, number,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    atomic_fetch_sub_explicit(&g_n_waiting, 1, memory_order_relaxed);
}

void thread_numbers_forget(void)
{
    atomic_store_explicit(&g_last, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_waiting, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < THREAD_NUMBERS_WAITING; i++)
        atomic_store_explicit(&g_waiting[i], 0, memory_order_relaxed);
}

/* ---- the thread ---- */

enum {
    KEY_ROUNDS = 4,       /* PTHREAD_DESTRUCTOR_ITERATIONS of glibc */
    MAX_KEYS_INLINE = 32, /* for higher keys glibc allocates memory */
    /* free space that makes a segment worth passing on to another thread */
    PARTIAL_BYTES = 64 * sizeof(uint64_t),
};

extern void *__libc_stack_end;

_Thread_local struct thread g_thread = {.guard = THREAD_GUARD_CLOSED, .group = LOG_GROUP_ROOT};

/* Reserved by ISO C, as `pthread_key_create` is not; no header declares it. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
int __pthread_key_create(pthread_key_t *ret_key, void (*destroy)(void *));

static pthread_key_t g_key;
static bool g_has_key;

/* libc's own functions, see real_find_in_libc; written by thread_init. */
static struct {
    pthread_t (*self)(void);
    int (*set_specific)(pthread_key_t key, const void *value);
    int (*init_attributes)(pthread_attr_t *attributes);
    int (*destroy_attributes)(pthread_attr_t *attributes);
    int (*get_stack_size)(const pthread_attr_t *attributes, size_t *ret_bytes);
} g_libc;

uintptr_t thread_self(void)
{
    return (uintptr_t)g_libc.self();
}

size_t thread_stack_bytes(const pthread_attr_t *attributes)
{
    pthread_attr_t preset;
    size_t stack_bytes = 0;

    if (attributes) {
        g_libc.get_stack_size(attributes, &stack_bytes);
    } else if (g_libc.init_attributes(&preset) == 0) {
        g_libc.get_stack_size(&preset, &stack_bytes);
        g_libc.destroy_attributes(&preset);
    }
    return stack_bytes;
}

struct thread *thread_of(uintptr_t other)
{
    return (struct thread *)(other + ((uintptr_t)&g_thread - thread_self()));
}

static bool is_main_thread(void)
{
    long id = sys_gettid();

    return id > 0 && id == sys_getpid();
}

/* main's stack grows down from __libc_stack_end, at most to the limit that held at start. */
static uintptr_t main_stack_low(void)
{
    uint64_t limit = sys_limit(RLIMIT_STACK);

    if (limit > (uint64_t)1 << 30)
        limit = (uint64_t)1 << 30;
    return (uintptr_t)__libc_stack_end - (uintptr_t)limit;
}

void thread_set_stack(uintptr_t low, uintptr_t high)
{
    g_thread.unwind.stack_low = low;
    g_thread.unwind.stack_high = high;
    own_stacks_add(low, high, &g_thread.guard);
}

static bool is_shared(uint32_t index)
{
    return thread_numbers_is_shared(index, g_state_config.max_threads);
}

void thread_define_name(const struct thread *of, const char *name)
{
    char own_name[16] = "";

    if (of->index == 0 || is_shared(of->index))
        return;
    if (!name && sys_thread_name(own_name) < 0)
        return;
    if (!name)
        name = own_name;
    definition_text(LOG_DEF_THREAD_NAME, of->index, name, fmt_length(name));
}

/* Defines a shared number once, without properties of the first thread that has it. */
static uint32_t define_shared(uint32_t number)
{
    static const char name[] = "other threads";
    struct log_def def = {.kind = LOG_DEF_THREAD, .id = number};

    if (!definition_write(&def, NULL, 0, NULL, 0))
        return 0;
    definition_text(LOG_DEF_THREAD_NAME, number, name, sizeof(name) - 1);
    return number;
}

static uint32_t define_own(const struct thread *thread, uint32_t number)
{
    long id = sys_gettid();
    struct log_def def = {
        .kind = LOG_DEF_THREAD,
        .id = number,
        .a = id > 0 ? (uint64_t)id : 0,
        .b = thread->unwind.stack_low,
        .c = thread->unwind.stack_high - thread->unwind.stack_low,
    };

    return definition_write(&def, NULL, 0, NULL, 0) ? number : 0;
}

static void define(struct thread *thread)
{
    bool is_new;
    uint32_t number;

    if (!segment_log())
        return;
    atomic_fetch_add_explicit(&segment_log()->n_threads, 1, memory_order_relaxed);
    number = thread_numbers_take(&is_new);
    if (is_new)
        number = is_shared(number) ? define_shared(number) : define_own(thread, number);
    thread->index = number;
    thread->is_next_owner = !is_new;
    thread_define_name(thread, NULL);
}

/* A hole in the stack may have been made without a wrapper before the first event, or while nothing
 * was recorded (after a detach). stack_high is stored last: if a handler leaves by siglongjmp
 * before, all this is repeated. */
static void find_bounds(struct unwind_memory *own, bool is_first)
{
    uintptr_t high = own->stack_high;

    if (high == 0 && is_main_thread()) {
        high = (uintptr_t)__libc_stack_end;
        own->stack_low = main_stack_low();
        own_stacks_add(own->stack_low, high, &g_thread.guard);
    } else if (is_first) {
        return;
    }
    high = own_stacks_prove(own->stack_low, high);
    atomic_signal_fence(memory_order_seq_cst);
    own->stack_high = high;
}

/* The thread is unseen, or its fields are about the process before a fork. The generation is stored
 * last: if this is abandoned before, it is repeated. */
static void begin(struct thread *thread, uint64_t generation)
{
    if (thread->generation != 0 && thread->generation != generation)
        unwind_memory_forget(&thread->unwind);
    thread->cursor = thread->limit = NULL;
    thread->segment = NULL;
    thread->last_ticks = thread->base_ticks = thread->slow_ticks = 0;
    thread->index = 0;
    thread->is_next_owner = false;
    thread->is_dead = thread->is_forking = thread->is_execing = false;
    thread->n_rounds = 0;
    thread->walk = NULL;
    thread->exec_scratch = NULL;
    thread->exec_scratch_bytes = 0;
    find_bounds(&thread->unwind, thread->generation == 0);
    define(thread);
    if (g_has_key)
        g_libc.set_specific(g_key, thread);
    atomic_signal_fence(memory_order_seq_cst);
    thread->generation = generation;
}

/* ---- forks during a recording ---- */

static bool is_open(uint64_t guard)
{
    return !(guard & THREAD_GUARD_CLOSED);
}

static struct thread *g_stranded; /* set only in the child, which has no other thread */
static _Atomic uint32_t g_n_stranded;

bool thread_fork_begins(void)
{
    struct thread *thread = &g_thread;
    bool is_unseen = thread->generation == 0 && thread->guard == THREAD_GUARD_CLOSED;

    if (is_unseen || is_open(thread->guard) || thread->is_dead || g_stranded)
        return false;
    memory_inherit();
    thread->is_forking = true;
    return true;
}

/* The first call in the child may come from a pthread_atfork handler, before fork returns. */
static void strand(void)
{
    g_thread.is_forking = false;
    g_stranded = &g_thread;
    segment_replace_mappings();
}

void thread_fork_ended(bool is_child)
{
    if (!is_child)
        g_thread.is_forking = false;
    else if (g_thread.is_forking)
        strand();
}

bool thread_is_stranded(void)
{
    if (g_thread.is_forking)
        strand();
    if (g_stranded && is_open(g_stranded->guard))
        g_stranded = NULL;
    return g_stranded != NULL;
}

void thread_count_stranded(void)
{
    if (g_stranded)
        atomic_fetch_add_explicit(&g_n_stranded, 1, memory_order_relaxed);
}

uint32_t thread_n_stranded(void)
{
    return atomic_exchange_explicit(&g_n_stranded, 0, memory_order_relaxed);
}

/* In a stranded child it is mapped: the interrupted recording continues with it. */
void thread_forget_unmapped(void)
{
    struct thread *thread = &g_thread;

    if (thread->generation != atomic_load_explicit(g_state_generation, memory_order_relaxed)
        && !thread_is_stranded())
        unwind_memory_forget(&thread->unwind);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Passes the segment on to another thread, or seals it. Uncommitted bytes are lost. */
static void put_segment(struct thread *thread)
{
    struct log_segment *segment = thread->segment;
    uint32_t used;

    thread->segment = NULL;
    thread->cursor = thread->limit = NULL;
    atomic_signal_fence(memory_order_seq_cst); /* TH-5: lost rather than given away twice */
    if (!segment)
        return;
    atomic_store_explicit(&segment->writer, 0, memory_order_relaxed);
    used = atomic_load_explicit(&segment->committed_bytes, memory_order_relaxed);
    if (used + PARTIAL_BYTES < LOG_SEGMENT_PAYLOAD_BYTES)
        segment_put_partial(segment);
    else
        segment_seal(segment);
}

/* ---- the recursion guard ---- */

/* TH-4 (b). Behind a seccomp filter nothing is known of other stacks. */
static bool is_return_invalid(struct thread *thread, uintptr_t frame, uint16_t pc)
{
    uintptr_t at = frame - sizeof(uintptr_t);
    uintptr_t now = 0;
    long result;

    (void)own_stacks_refresh(&thread->unwind);
    if (thread_is_on_own_stack(thread, frame))
        return (uint16_t)arch_code_address(*(const uintptr_t *)at) != pc;
    if (sys_is_forbidden())
        return false;
    result = sys_copy_own(&now, at, sizeof(now));
    return result == -EFAULT || (result == sizeof(now) && (uint16_t)arch_code_address(now) != pc);
}

bool thread_has_left(const struct thread *thread, uintptr_t frame, uintptr_t now)
{
    return now >= frame && thread_is_on_own_stack(thread, now)
           && thread_is_on_own_stack(thread, frame) && !sys_is_on_signal_stack();
}

/* TH-4: the recording that closed the guard will not open it. */
static MTRACE_NOINLINE bool is_abandoned(struct thread *thread, uint64_t guard,
                                         const struct unwind_origin *origin)
{
    uintptr_t frame =
        (uintptr_t)(guard & (((uint64_t)1 << THREAD_GUARD_PC_SHIFT) - 1) & ~(uint64_t)1);
    uintptr_t at = frame - sizeof(uintptr_t);

    if (frame == 0)
        return false;
    if (at >= (uintptr_t)__builtin_frame_address(0) && at < origin->cfa)
        return true;
    if (is_return_invalid(thread, frame, (uint16_t)(guard >> THREAD_GUARD_PC_SHIFT)))
        return true;
    return origin->cfa > frame && thread_is_on_own_stack(thread, frame)
           && thread_is_on_own_stack(thread, origin->cfa) && !sys_is_forbidden()
           && !sys_is_on_signal_stack();
}

/* The remembered frames may be half written (TH-5). */
static void recover(struct thread *thread)
{
    thread->is_muted = false;
    unwind_memory_distrust(&thread->unwind);
    put_segment(thread);
}

static void (*g_came_back)(void); /* the same for all threads */

bool thread_will_exec(void (*came_back)(void))
{
    struct thread *thread = &g_thread;

    if (thread->guard != atomic_load_explicit(g_state_generation, memory_order_relaxed))
        return false;
    g_came_back = came_back;
    thread->is_execing = true;
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = THREAD_GUARD_CLOSED;
    return true;
}

void thread_came_back(void)
{
    struct thread *thread = &g_thread;

    if (!thread->is_execing)
        return;
    thread->is_execing = false;
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = thread->generation;
}

/* False in the child of a handler that forked since the generation was read: the guard is
 * unchanged. A handler that forks later finds the guard closed. */
static bool close_guard(struct thread *thread, const struct unwind_origin *origin,
                        uint64_t generation)
{
    uint64_t guard = thread->guard;

    thread->guard = thread_guard_of(origin);
    atomic_signal_fence(memory_order_seq_cst);
    if (generation != 0
        && generation == atomic_load_explicit(g_state_generation, memory_order_relaxed))
        return true;
    thread->guard = guard;
    if (g_stranded == thread)
        g_stranded = NULL;
    return false;
}

MTRACE_COLD struct thread *thread_enter_slow(const struct unwind_origin *origin)
{
    struct thread *thread = &g_thread;
    bool was_inside;
    uint64_t generation;
    uint64_t guard;

    if (g_stranded == thread && is_open(thread->guard))
        g_stranded = NULL;
    if (!state_is_recording() || thread->outer_guard != 0)
        return NULL;
    if (thread->is_execing) {
        thread_came_back();
        g_came_back(); /* it records, too */
        return thread_enter(origin);
    }
    generation = atomic_load_explicit(g_state_generation, memory_order_relaxed);
    /* Read once: a handler opens the guard if its call is the thread's first. */
    guard = thread->guard;
    atomic_signal_fence(memory_order_seq_cst);
    was_inside = !is_open(guard) && guard != THREAD_GUARD_CLOSED;
    if (was_inside
            ? !is_abandoned(thread, guard, origin)
            : thread_is_muted(thread) || (thread->is_dead && thread->generation == generation))
        return NULL;
    if (!close_guard(thread, origin, generation))
        return thread_enter_slow(origin);
    if (was_inside)
        segment_count_drop(LOG_DROP_ABANDONED);
    if (thread->generation != generation)
        begin(thread, generation);
    else if (was_inside)
        recover(thread);
    return thread;
}

/* In the child of a handler that forked during the look, a guard that was never opened counts as
 * open. */
void thread_read_end(uint64_t guard)
{
    struct thread *thread = &g_thread;

    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = guard;
    if (g_stranded == thread && guard == THREAD_GUARD_CLOSED)
        g_stranded = NULL;
}

/* A call nested in a recording needs no guard. A muted thread has it closed, and a dead thread
 * cannot close it. */
bool thread_read_begin(const struct unwind_origin *origin, uint64_t *ret_guard)
{
    struct thread *thread = &g_thread;
    uint64_t guard = thread->guard;

    *ret_guard = guard;
    if (thread->is_dead || thread->outer_guard != 0)
        return false;
    if (!is_open(guard) && guard != THREAD_GUARD_CLOSED)
        return state_is_recording();
    thread->guard = thread_guard_of(origin);
    atomic_signal_fence(memory_order_seq_cst);
    if (state_is_recording())
        return true;
    thread_read_end(guard);
    return false;
}

/* A scope that is entered later maps memory again, which then stays. */
static void unmap_scopes(struct thread *thread)
{
    for (unsigned i = 0; i < THREAD_SCOPE_PIECES; i++) {
        void *piece = thread->scope_pieces[i];

        thread->scope_pieces[i] = NULL;
        memory_unmap(piece, (size_t)THREAD_SCOPE_BYTES << i);
    }
}

/* From here on the thread's events have no number, because this one may be another thread's. A
 * handler sees either. */
static void leave_number(struct thread *thread)
{
    uint32_t number = thread->index;

    thread->index = 0;
    atomic_signal_fence(memory_order_seq_cst);
    thread_numbers_leave(number);
}

/* The guard is closed as for a recording, so that a fork by a handler is detected. */
static void give_all_up(struct thread *thread, bool was_inside)
{
    struct log_def def = {.kind = LOG_DEF_THREAD_END, .id = thread->index};

    if (was_inside) { /* another thread gets what this one remembers */
        segment_count_drop(LOG_DROP_ABANDONED);
        unwind_memory_distrust(&thread->unwind);
    }
    put_segment(thread);
    own_stacks_remove(&thread->unwind);
    unwind_memory_done(&thread->unwind);
    memory_unmap(thread->exec_scratch, thread->exec_scratch_bytes);
    thread->exec_scratch = NULL;
    memory_unmap(thread->walk, thread->walk_bytes);
    thread->walk = NULL;
    unmap_scopes(thread);
    if (is_shared(thread->index))
        leave_number(thread);
    else if (thread->index)
        definition_write(&def, NULL, 0, NULL, 0);
}

/* is_dead is stored last, except for the guard, which has no meaning afterwards. A handler sees
 * either state. */
static void end(struct thread *thread)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool was_inside = !is_open(thread->guard);

    if (!close_guard(thread, &origin, thread->generation))
        return;
    give_all_up(thread, was_inside);
    thread->is_dead = true;
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = THREAD_GUARD_CLOSED;
    if (g_stranded == thread)
        g_stranded = NULL;
}

/* glibc calls destructors in up to four rounds while values are set again. Requesting the next
 * round keeps the thread ready for all destructors of the program except the last ones. */
static void destroy(void *value)
{
    struct thread *thread = value;

    if (!state_is_recording() || thread->generation != *g_state_generation || thread->is_dead)
        return;
    if (thread->left)
        thread->left();
    if (++thread->n_rounds < KEY_ROUNDS)
        g_libc.set_specific(g_key, thread);
    else
        end(thread);
}

void thread_init(void)
{
    *(void **)(void *)&g_libc.self = real_find_in_libc("pthread_self");
    *(void **)(void *)&g_libc.set_specific = real_find_in_libc("pthread_setspecific");
    *(void **)(void *)&g_libc.init_attributes = real_find_in_libc("pthread_attr_init");
    *(void **)(void *)&g_libc.destroy_attributes = real_find_in_libc("pthread_attr_destroy");
    *(void **)(void *)&g_libc.get_stack_size = real_find_in_libc("pthread_attr_getstacksize");
    g_has_key = __pthread_key_create(&g_key, destroy) == 0 && g_key < MAX_KEYS_INLINE;
}
