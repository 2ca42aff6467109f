/* SPDX-License-Identifier: MIT */
/* The recursion guard: which calls it rejects, and which continue after an unfinished recording
 * (TH-4). */
#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/kernel.h"
#include "tests/unit/collector/log_fixture.h"

#include <signal.h>
#include <sys/mman.h>

enum {
    N_WORDS = 16 * 1024,
    INNER = 200,
    OUTER = 400,   /* the stack grows down: calls at OUTER are further out */
    PIECE = 512,   /* of the stack, from here to its end, may be an alternate one */
    CALL = 0x4320, /* aligned as code is anywhere */
    OTHER_CALL = 0x9870,
    PAGE_BYTES = 4096,
    POOL = 1 << 24
};

static struct log_fixture g_log;
static uintptr_t g_stack[N_WORDS];
static uintptr_t g_elsewhere[N_WORDS]; /* another stack */

static bool never_begin(void)
{
    return false;
}

static int begin_recording(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 16, POOL);
    if (!state_init(&(const struct state_hooks){.begin_in_child = never_begin})
        || !state_start(STATE_UNSTARTED))
        return 1;
    state_record(true);
    return 0;
}

/* A thread that was seen, on a stack with nothing on it. */
static int begin_thread(void **state)
{
    struct unwind_origin first = {.cfa = (uintptr_t)&g_stack[OUTER]};
    struct thread *thread;

    (void)state;
    for (unsigned i = 0; i < N_WORDS; i++)
        g_stack[i] = g_elsewhere[i] = 0;
    thread_set_stack((uintptr_t)g_stack, (uintptr_t)(g_stack + N_WORDS));
    g_thread.guard = g_thread.generation != 0 ? g_thread.generation : THREAD_GUARD_CLOSED;
    thread = thread_enter(&first);
    if (!thread)
        return 1;
    thread_leave(thread);
    atomic_store(&g_log.file->dropped[LOG_DROP_ABANDONED], 0);
    return 0;
}

/* Calls a wrapper at a given place of a stack. */
static struct unwind_origin call_at(uintptr_t *word, uintptr_t pc)
{
    struct unwind_origin origin = {.pc = pc, .cfa = (uintptr_t)word};

#if !ARCH_HAS_FIXED_RA
    origin.record = origin.cfa - ARCH_FRAME_BYTES;
#endif
    word[-1] = pc;
    return origin;
}

static struct thread *enter_at(uintptr_t *word)
{
    struct unwind_origin origin = call_at(word, CALL);

    return thread_enter(&origin);
}

static uint64_t n_abandoned(void)
{
    return atomic_load(&g_log.file->dropped[LOG_DROP_ABANDONED]);
}

TEST_WITH(a_handler_on_the_same_stack_is_refused, begin_thread, NULL)
{
    struct thread *thread = enter_at(&g_stack[OUTER]);
    uint64_t guard = thread->guard;

    assert_null(enter_at(&g_stack[INNER]));
    assert_null(enter_at(&g_stack[OUTER - 2]));
    assert_true(thread->guard == guard);
    assert_int_equal(n_abandoned(), 0);
    thread_leave(thread);
    assert_non_null(thread = enter_at(&g_stack[INNER]));
    thread_leave(thread);
}

TEST_WITH(a_call_further_out_continues, begin_thread, NULL)
{
    struct thread *thread = enter_at(&g_stack[INNER]);

    assert_ptr_equal(enter_at(&g_stack[OUTER]), thread);
    assert_int_equal(n_abandoned(), 1);
    thread_leave(thread);
    assert_true(thread->guard == *g_state_generation);
}

/* Below an outermost handler that was rejected once, the mark of the inner call stays. */
TEST_WITH(a_refused_call_leaves_the_mark, begin_thread, NULL)
{
    struct thread *thread = enter_at(&g_stack[OUTER]);

    assert_null(enter_at(&g_stack[INNER]));
    assert_null(enter_at(&g_stack[INNER + 100]));
    assert_int_equal(n_abandoned(), 0);
    thread_leave(thread);
}

TEST_WITH(another_return_address_proves_it_wherever_it_was, begin_thread, NULL)
{
    uintptr_t *const stacks[] = {g_stack, g_elsewhere};

    KERNEL_NEEDS(copies_own);
    for (unsigned i = 0; i < 2; i++) {
        struct thread *thread = enter_at(&stacks[i][OUTER]);
        assert_null(enter_at(&g_stack[INNER]));
        stacks[i][OUTER - 1] = OTHER_CALL;
        assert_ptr_equal(enter_at(&g_stack[INNER]), thread);
        assert_int_equal(n_abandoned(), i + 1);
        thread_leave(thread);
    }
}

TEST_WITH(another_stack_alone_proves_nothing, begin_thread, NULL)
{
    struct thread *thread = enter_at(&g_stack[INNER]);

    assert_null(enter_at(&g_elsewhere[OUTER]));
    thread_leave(thread);
    assert_ptr_equal(enter_at(&g_elsewhere[INNER]), thread);
    assert_null(enter_at(&g_elsewhere[OUTER]));
    assert_null(enter_at(&g_stack[OUTER]));
    assert_int_equal(n_abandoned(), 0);
    thread_leave(thread);
}

TEST_WITH(a_stack_that_is_gone_proves_it, begin_thread, NULL)
{
    uintptr_t *page =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct thread *thread;

    KERNEL_NEEDS(copies_own);
    assert_ptr_not_equal(page, MAP_FAILED);
    thread = enter_at(&page[INNER]);
    munmap(page, PAGE_BYTES);
    assert_ptr_equal(enter_at(&g_stack[INNER]), thread);
    assert_int_equal(n_abandoned(), 1);
    thread_leave(thread);
}

/* Without system calls the state of another stack is not known. */
TEST_WITH(without_system_calls_only_own_words_prove_it, begin_thread, NULL)
{
    struct thread *thread;

    sys_forbid();
    thread = enter_at(&g_elsewhere[INNER]);
    g_elsewhere[INNER - 1] = OTHER_CALL;
    assert_null(enter_at(&g_stack[OUTER]));
    thread_leave(thread);
    thread = enter_at(&g_stack[INNER]);
    assert_null(enter_at(&g_stack[OUTER]));
    g_stack[INNER - 1] = OTHER_CALL;
    assert_ptr_equal(enter_at(&g_stack[OUTER]), thread);
    thread_leave(thread);
    sys_allow();
}

/* (a): the word is in a frame of the very call that asks, and unchanged. */
TEST_WITH(own_frames_prove_it, begin_thread, NULL)
{
    uintptr_t frame[64];
    struct thread *thread = enter_at(&frame[32]);
    struct unwind_origin origin = call_at(&frame[64], CALL);

    assert_ptr_equal(thread_enter(&origin), thread);
    origin.cfa = (uintptr_t)&frame[16];
    assert_null(thread_enter(&origin));
    thread_leave(thread);
}

static struct thread *volatile g_entered;

static void on_signal(int number)
{
    uintptr_t frame[16];

    (void)number;
    g_entered = enter_at(&frame[8]);
}

/* An alternate stack that is a piece of the thread's own lies above what the handler
 * interrupted. */
TEST_WITH(a_handler_on_a_piece_of_the_own_stack_is_refused, begin_thread, NULL)
{
    stack_t stack = {.ss_sp = &g_stack[PIECE], .ss_size = (N_WORDS - PIECE) * sizeof(uintptr_t)};
    const stack_t none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    struct thread *thread = enter_at(&g_stack[INNER]);

    g_entered = thread;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    raise(SIGUSR1);
    assert_null(g_entered);
    assert_int_equal(sigaltstack(&none, NULL), 0);
    assert_ptr_equal(enter_at(&g_stack[PIECE]), thread);
    thread_leave(thread);
}

/* Committed events stay; others are overwritten by the next owner of the segment. */
TEST_WITH(its_segment_goes_on_behind_what_was_committed, begin_thread, NULL)
{
    const struct unwind_origin outer = call_at(&g_stack[OUTER], CALL);
    struct log_segment *segment;
    struct thread *thread;
    uint32_t committed;

    record_free((void *)0x1000, &outer);
    thread = enter_at(&g_stack[INNER]);
    segment = thread->segment;
    committed = atomic_load(&segment->committed_bytes);
    *thread->cursor++ = 0xdead;
    record_free((void *)0x2000, &outer);
    assert_ptr_equal(thread->segment, segment);
    assert_true(thread->guard == *g_state_generation);
    /* a time base, the thread, and the free: two words each */
    assert_int_equal(atomic_load(&segment->committed_bytes), committed + 6 * sizeof(uint64_t));
    assert_int_equal(*(uint64_t *)(void *)(segment_payload(segment) + committed), LOG_TIME_BASE);
}

/* A thread that was interrupted between taking the segment off and sealing it has none. */
TEST_WITH(a_thread_left_without_a_segment_takes_another, begin_thread, NULL)
{
    const struct unwind_origin outer = call_at(&g_stack[OUTER], CALL);
    struct thread *thread;
    struct log_segment *lost;

    record_free((void *)0x1000, &outer);
    thread = enter_at(&g_stack[INNER]);
    lost = thread->segment;
    thread->segment = NULL;
    record_free((void *)0x2000, &outer);
    assert_non_null(thread->segment);
    assert_ptr_not_equal(thread->segment, lost);
    assert_int_equal(atomic_load(&lost->state), LOG_STATE_FILLING);
}

TESTS_WITH(begin_recording, NULL);
