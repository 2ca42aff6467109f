/* SPDX-License-Identifier: MIT */
/* Scopes of a thread: nested, left open, ended twice, ended elsewhere, and deep. */
#include "collector/groups/scopes.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    N_DEEP = 5000, /* beyond what is inline, into the third piece */
    N_STORM = 20000,
};

TEST(scopes_nest)
{
    struct mtrace_scope a;
    struct mtrace_scope b;
    struct mtrace_scope again;

    assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
    assert_int_equal(scopes_innermost(), 0);
    a = scopes_enter(5);
    b = scopes_enter(6);
    again = scopes_enter(6); /* the same group twice */
    assert_int_equal(scopes_group(), 6);
    assert_int_equal(scopes_innermost(), again.owner);
    assert_true(scopes_exit(again));
    assert_int_equal(scopes_group(), 6);
    assert_true(scopes_exit(b));
    assert_int_equal(scopes_group(), 5);
    assert_true(scopes_exit(a));
    assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
}

TEST(a_second_exit_changes_nothing)
{
    struct mtrace_scope a = scopes_enter(5);
    struct mtrace_scope b = scopes_enter(6);
    struct mtrace_scope c;

    assert_true(scopes_exit(b));
    c = scopes_enter(7); /* where b was */
    assert_int_equal(c.depth, b.depth);
    assert_false(scopes_exit(b));
    assert_int_equal(scopes_group(), 7);
    assert_true(scopes_exit(a)); /* with c left open */
    assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
    assert_false(scopes_exit(c));
    assert_false(scopes_exit(a));
    assert_false(scopes_exit((struct mtrace_scope){0, 0, 0}));
    assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
}

static void *exit_foreign(void *argument)
{
    const struct mtrace_scope *scope = argument;
    struct mtrace_scope own = scopes_enter(9);

    assert_int_equal(own.depth, scope->depth);
    assert_false(scopes_exit(*scope));
    assert_int_equal(scopes_group(), 9);
    return NULL;
}

TEST(another_thread_cannot_end_it)
{
    struct mtrace_scope scope = scopes_enter(5);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, exit_foreign, &scope), 0);
    pthread_join(thread, NULL);
    assert_int_equal(scopes_group(), 5);
    assert_true(scopes_exit(scope));
}

TEST(longjmp_leaves_them_to_the_outer)
{
    static jmp_buf back;
    struct mtrace_scope outer = scopes_enter(5);

    if (setjmp(back) == 0) {
        scopes_enter(6);
        scopes_enter(7);
        longjmp(back, 1);
    }
    assert_int_equal(scopes_group(), 7);
    assert_true(scopes_exit(outer));
    assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
}

TEST(deep)
{
    static struct mtrace_scope scopes[N_DEEP];

    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N_DEEP; i++)
            scopes[i] = scopes_enter(i + 2);
        for (uint32_t i = N_DEEP; i-- > 0;) {
            assert_int_equal(scopes_group(), i + 2);
            assert_true(scopes_exit(scopes[i]));
        }
        assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
    }
}

TEST(a_fork_child_goes_on_in_them)
{
    static struct mtrace_scope scopes[100];
    int status = 1;
    pid_t child;

    for (uint32_t i = 0; i < 100; i++)
        scopes[i] = scopes_enter(i + 2);
    child = fork();
    if (child == 0)
        _exit(scopes_group() == 101 && scopes_exit(scopes[50]) && scopes_group() == 51 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(scopes_exit(scopes[0]));
}

static void handle(int number)
{
    struct mtrace_scope outer = scopes_enter(50);
    struct mtrace_scope inner = scopes_enter(51);

    (void)number;
    scopes_exit(inner);
    scopes_exit(outer);
}

/* SC-2: after any interrupted operation the thread finds its groups unchanged. */
TEST(handlers_leave_no_trace)
{
    struct itimerspec every = {{0, 20000}, {0, 20000}};
    struct sigaction action = {.sa_handler = handle};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;

    sigaction(SIGUSR1, &action, NULL);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
    for (uint32_t i = 0; i < N_STORM; i++) {
        struct mtrace_scope a = scopes_enter(5);
        struct mtrace_scope b = scopes_enter(i % 40 + 6);
        assert_int_equal(scopes_group(), i % 40 + 6);
        assert_true(scopes_exit(b));
        assert_int_equal(scopes_group(), 5);
        assert_true(scopes_exit(a));
        assert_int_equal(scopes_group(), MTRACE_GROUP_ROOT);
    }
    timer_delete(timer);
}

static void *report_group(void *argument)
{
    scopes_begin(*(const uint32_t *)argument);
    return (void *)(uintptr_t)scopes_group();
}

TEST(threads_inherit_when_asked)
{
    struct mtrace_scope scope = scopes_enter(5);
    uint32_t group = scopes_group_to_inherit();
    pthread_t thread;
    void *found;

    assert_int_equal(group, MTRACE_GROUP_ROOT);
    scopes_inherit(true);
    group = scopes_group_to_inherit();
    assert_int_equal(pthread_create(&thread, NULL, report_group, &group), 0);
    pthread_join(thread, &found);
    assert_int_equal((uintptr_t)found, 5);
    scopes_inherit(false);
    assert_true(scopes_exit(scope));
}
