/* SPDX-License-Identifier: MIT */
/* Event callbacks that are added and removed by any thread, also during events, and waiting for
 * them. */
#include "collector/groups/event_callbacks.h"
#include "collector/os/sys.h"
#include "collector/sampling/live_block_index.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/jumps.h"
#include "tests/unit/collector/kernel.h"
#include "tests/unit/collector/log_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_TRACKERS = 16,
    N_JUMPS = 5000,
    LONGEST_SECONDS = 120, /* otherwise a thread waits forever */
};

static struct log_fixture g_log;

static int begin(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 16, 1 << 24);
    alarm(LONGEST_SECONDS);
    return state_init(&(const struct state_hooks){NULL, NULL}) ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

/* An event of a block that no other thread has. */
static void emit(enum mtrace_event_kind kind, uintptr_t address)
{
    const struct known_block fresh = {1, 24, MTRACE_GROUP_ROOT, 1, 1};

    if (kind == MTRACE_EVENT_ALLOC)
        event_callbacks_emit_alloc((const void *)address, &fresh);
    else
        event_callbacks_emit_free((const void *)address, 1);
}

static bool remove_outside(int handle)
{
    const struct unwind_origin origin = {.cfa = (uintptr_t)__builtin_frame_address(0)};

    return event_callbacks_remove(handle, true, &origin) == 0;
}

/* ---- jumps ----------------------------------------------------------------------------------- */

static _Atomic bool g_has_ended;

static void receive_nothing(const struct mtrace_event *event, void *user)
{
    (void)event;
    (void)user;
}

static void *emit_until_over(void *unused)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    (void)unused;
    thread_set_stack(here - 1024 * 1024, here + 4096);
    while (!jumps_are_over()) {
        if (sigsetjmp(g_jumps_back, 1) != 0)
            continue;
        jumps_allow(true);
        for (;;) {
            const struct unwind_origin origin = {.cfa = here};
            (void)event_callbacks_is_running(&origin); /* as each event asks */
            emit(MTRACE_EVENT_ALLOC, 4096);
            emit(MTRACE_EVENT_FREE, 4096);
        }
    }
    atomic_store(&g_has_ended, true);
    return NULL;
}

/* A handler may leave by siglongjmp anywhere: no thread waits for it, and it still reports
 * events. */
TEST(a_jump_leaves_nothing_to_wait_for)
{
    struct known_block known;
    pthread_t thread;
    int handle;

#ifdef __SANITIZE_THREAD__
    skip(); /* it runs handlers later than they come, where none can jump out of this */
#endif
    handle = event_callbacks_add(receive_nothing, NULL, MTRACE_EVENT_ALLOC | MTRACE_EVENT_FREE);
    assert_true(handle > 0);
    assert_true(jumps_start(&thread, emit_until_over));
    jumps_make(thread, N_JUMPS);
    assert_true(remove_outside(handle));
    jumps_end();
    while (!atomic_load(&g_has_ended))
        pthread_kill(thread, SIGUSR1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    handle = event_callbacks_add(receive_nothing, NULL, MTRACE_EVENT_ALLOC);
    assert_true(remove_outside(handle));
    emit(MTRACE_EVENT_ALLOC, 4096); /* KB-1: there is still a place for it */
    assert_true(live_block_index_find((const void *)4096, &known));
}

static void leave(const struct mtrace_event *event, void *user)
{
    const struct unwind_origin origin = {.cfa = (uintptr_t)__builtin_frame_address(0)};

    (void)event;
    assert_true(event_callbacks_is_running(&origin));
    siglongjmp(*(sigjmp_buf *)user, 1);
}

static sigjmp_buf *g_leaves_to;
static _Atomic bool g_has_left;

static void leave_from_there(const struct mtrace_event *event, void *user)
{
    (void)event;
    (void)user;
    atomic_store(&g_has_left, true);
    siglongjmp(*g_leaves_to, 1);
}

static MTRACE_NOINLINE void emit_deep(unsigned depth)
{
    volatile char room[1024];

    room[0] = (char)depth;
    if (depth > 0)
        emit_deep(depth - 1);
    else
        emit(MTRACE_EVENT_ALLOC, 16384 + (uintptr_t)(unsigned char)room[0]);
    room[1] = 0; /* no tail call */
}

static MTRACE_NOINLINE void use_stack(void)
{
    volatile char room[16384];

    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0x5a;
}

static void *leave_once(void *unused)
{
    const struct unwind_origin origin = {.cfa = (uintptr_t)__builtin_frame_address(0)};
    sigjmp_buf back;
    int handle;

    (void)unused;
    thread_set_stack(4096, 8192); /* we are on another, as a coroutine is */
    handle = event_callbacks_add(leave, &back, MTRACE_EVENT_ALLOC);
    if (sigsetjmp(back, 0) == 0)
        emit(MTRACE_EVENT_ALLOC, 16384);
    use_stack();
    assert_false(event_callbacks_is_running(&origin));
    assert_true(remove_outside(handle));
    return NULL;
}

TEST(a_jump_on_another_stack_is_seen_by_what_is_overwritten)
{
    pthread_t thread;

    KERNEL_NEEDS(copies_own);
    assert_int_equal(pthread_create(&thread, NULL, leave_once, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Reports, leaves by a jump, and waits forever in the kernel without any call as deep: the frame is
 * unchanged. */
static void *leave_and_wait(void *fd)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const int *pipe_end = fd;
    sigjmp_buf back;
    char byte;
    ssize_t n;

    thread_set_stack(here - 1024 * 1024, here + 4096);
    g_leaves_to = &back;
    if (sigsetjmp(back, 0) == 0)
        emit_deep(64);
    n = read(*pipe_end, &byte, 1);
    return n == 1 ? NULL : fd;
}

TEST(a_thread_that_jumped_out_of_a_callback_is_not_waited_for)
{
    pthread_t thread;
    void *result;
    int ends[2];
    int handle;

    KERNEL_NEEDS(shows_stacks);
    assert_int_equal(pipe(ends), 0);
    handle = event_callbacks_add(leave_from_there, NULL, MTRACE_EVENT_ALLOC);
    assert_int_equal(pthread_create(&thread, NULL, leave_and_wait, &ends[0]), 0);
    while (!atomic_load(&g_has_left))
        sys_nap(100000);
    assert_true(remove_outside(handle));
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
}

static pthread_barrier_t g_is_waiting;
static int g_ends[2];

static void wait_inside(const struct mtrace_event *event, void *user)
{
    char byte;

    (void)event;
    pthread_barrier_wait(&g_is_waiting);
    if (read(g_ends[0], &byte, 1) == 1)
        atomic_store((_Atomic bool *)user, true);
}

static void *emit_on_own_stack(void *unused)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    (void)unused;
    thread_set_stack(here - 1024 * 1024, here + 4096);
    emit(MTRACE_EVENT_ALLOC, 20480);
    return NULL;
}

/* A callback that waits in the kernel is still active; other threads see that, and wait. */
TEST(a_callback_that_blocks_is_waited_for)
{
    const struct unwind_origin origin = {.cfa = (uintptr_t)__builtin_frame_address(0)};
    _Atomic bool has_returned = false;
    pthread_t thread;
    int handle;

    assert_int_equal(pipe(g_ends), 0);
    pthread_barrier_init(&g_is_waiting, NULL, 2);
    handle = event_callbacks_add(wait_inside, &has_returned, MTRACE_EVENT_ALLOC);
    assert_int_equal(pthread_create(&thread, NULL, emit_on_own_stack, NULL), 0);
    pthread_barrier_wait(&g_is_waiting);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(event_callbacks_remove(handle, false, &origin), EBUSY);
        sys_nap(100000);
    }
    assert_int_equal(write(g_ends[1], "x", 1), 1);
    assert_true(remove_outside(handle));
    assert_true(atomic_load(&has_returned));
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- removal in a callback ------------------------------------------------------------------- */

static pthread_barrier_t g_both_inside;
static int g_handles[2];
static int g_codes[2];

/* user: of whose handle. */
static void remove_other(const struct mtrace_event *event, void *user)
{
    const struct unwind_origin origin = {.cfa = (uintptr_t)__builtin_frame_address(0)};
    const unsigned other = (unsigned)(uintptr_t)user;

    (void)event;
    pthread_barrier_wait(&g_both_inside);
    g_codes[other] = event_callbacks_remove(g_handles[other], true, &origin);
    pthread_barrier_wait(&g_both_inside);
}

static void *emit_one(void *kind)
{
    emit((enum mtrace_event_kind)(uintptr_t)kind, 8192);
    return NULL;
}

TEST(two_callbacks_remove_each_other)
{
    pthread_t threads[2];

    pthread_barrier_init(&g_both_inside, NULL, 2);
    emit(MTRACE_EVENT_ALLOC, 8192);
    g_handles[0] = event_callbacks_add(remove_other, (void *)1, MTRACE_EVENT_FREE);
    g_handles[1] = event_callbacks_add(remove_other, (void *)0, MTRACE_EVENT_ALLOC);
    assert_int_equal(pthread_create(&threads[0], NULL, emit_one, (void *)MTRACE_EVENT_FREE), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, emit_one, (void *)MTRACE_EVENT_ALLOC), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(g_codes[i], EBUSY);
        assert_true(remove_outside(g_handles[i])); /* no thread runs it now */
        assert_false(remove_outside(g_handles[i]));
    }
    pthread_barrier_destroy(&g_both_inside);
}

static unsigned g_n_added_inside;

static void remove_itself_and_fill(const struct mtrace_event *event, void *user)
{
    const struct unwind_origin origin = {.cfa = (uintptr_t)__builtin_frame_address(0)};

    (void)event;
    for (unsigned i = 0; i < 2; i++) /* no other thread runs it */
        assert_int_equal(event_callbacks_remove(*(int *)user, true, &origin), 0);
    while (g_n_added_inside < MAX_TRACKERS
           && event_callbacks_add(receive_nothing, NULL, MTRACE_EVENT_ALLOC))
        g_n_added_inside++;
}

/* Its slot is not reused as long as it runs; later it is. */
TEST(a_callback_keeps_its_place_until_it_returns)
{
    int handle = 0;
    int last;

    handle = event_callbacks_add(remove_itself_and_fill, &handle, MTRACE_EVENT_FREE);
    emit(MTRACE_EVENT_ALLOC, 12288);
    emit(MTRACE_EVENT_FREE, 12288);
    assert_int_equal(g_n_added_inside, MAX_TRACKERS - 1);
    last = event_callbacks_add(receive_nothing, NULL, MTRACE_EVENT_ALLOC);
    assert_true(last > 0);
    assert_int_equal(event_callbacks_add(receive_nothing, NULL, MTRACE_EVENT_ALLOC), 0);
    assert_false(remove_outside(handle));
    for (int i = 1; i < last + MAX_TRACKERS * MAX_TRACKERS; i++)
        (void)remove_outside(i);
}

/* ---- forks ----------------------------------------------------------------------------------- */

static pthread_barrier_t g_inside;
static _Atomic bool g_may_return;

static void stay(const struct mtrace_event *event, void *user)
{
    (void)event;
    (void)user;
    pthread_barrier_wait(&g_inside);
    while (!atomic_load(&g_may_return))
        sys_nap(100000);
}

TEST(a_child_does_not_wait_for_threads_of_its_parent)
{
    pthread_t thread;
    int status = -1;
    int handle;
    pid_t child;

    pthread_barrier_init(&g_inside, NULL, 2);
    handle = event_callbacks_add(stay, NULL, MTRACE_EVENT_ALLOC);
    assert_int_equal(pthread_create(&thread, NULL, emit_one, (void *)MTRACE_EVENT_ALLOC), 0);
    pthread_barrier_wait(&g_inside);
    child = fork();
    if (child == 0) {
        alarm(LONGEST_SECONDS);
        event_callbacks_forget();
        _exit(remove_outside(handle) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    atomic_store(&g_may_return, true);
    assert_true(remove_outside(handle));
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&g_inside);
}

TESTS_WITH(begin, finish);
