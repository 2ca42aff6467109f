/* SPDX-License-Identifier: MIT */
/* A process of ours is in a group of its own from the first instant, and ends when it shall,
 * whatever it does of signals. */
#include "lib/process/child_process.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N_STARTS = 50
};

static void wait_for_ever(void)
{
    for (;;)
        (void)pause();
}

/* Waits until it has ended, or stopped, and leaves that to be seen by who waits. Returns the
 * status, or by which signal. */
static int see(pid_t pid, int what)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, what | WNOWAIT), 0);
    return info.si_status;
}

/* Else a signal to the group reaches nobody, or us. */
TEST(it_has_its_group_at_once)
{
    for (int i = 0; i < N_STARTS; i++) {
        struct child_process helper;
        pid_t pid = child_process_start(&helper);

        if (pid == 0)
            wait_for_ever();
        assert_true(pid > 0);
        assert_int_equal(getpgid(pid), pid);
        child_process_end_now(&helper);
        assert_int_equal(helper.pid, 0);
        assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
    }
}

/* It is ended by the signal that asks, though we ignore that and block all. */
TEST(its_signals_are_as_in_a_new_process)
{
    struct child_process helper;
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_BLOCK, &all, &before), 0);
    (void)signal(SIGTERM, SIG_IGN);
    pid = child_process_start(&helper);
    if (pid == 0)
        wait_for_ever();
    assert_true(pid > 0);
    assert_false(child_process_end(&helper));
    assert_int_equal(see(pid, WEXITED), SIGTERM);
    child_process_end_now(&helper);
    (void)signal(SIGTERM, SIG_DFL);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

/* Ignores what asks it to end, and stops. */
TEST(who_does_not_end_is_killed)
{
    struct child_process helper;
    pid_t pid = child_process_start(&helper);

    if (pid == 0) {
        (void)signal(SIGTERM, SIG_IGN);
        (void)raise(SIGSTOP);
        wait_for_ever();
    }
    (void)see(pid, WSTOPPED);
    child_process_end_now(&helper);
    assert_int_equal(kill(pid, 0), -1);
}

/* Who was stopped hears that it shall end, and need not be killed. */
TEST(who_is_stopped_ends_when_asked)
{
    struct child_process helper;
    pid_t pid = child_process_start(&helper);

    if (pid == 0) {
        (void)raise(SIGSTOP);
        wait_for_ever();
    }
    (void)see(pid, WSTOPPED);
    assert_false(child_process_end(&helper));
    assert_int_equal(see(pid, WEXITED), SIGTERM);
    child_process_end_now(&helper);
}

/* HE-2: while it works it is left alone; stopped, it is killed. */
TEST(who_is_stopped_is_not_waited_for)
{
    struct child_process helper;
    int status = 0;
    pid_t pid = child_process_start(&helper);

    if (pid == 0)
        wait_for_ever();
    child_process_watch(&helper);
    assert_int_equal(helper.time_limit.stopped_ns, 0);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    (void)see(pid, WSTOPPED);
    while (!child_process_has_ended(&helper, &status)) {
        child_process_watch(&helper);
        (void)usleep(1000);
    }
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(who_ended_by_itself_is_seen_once)
{
    struct child_process helper;
    int status = 0;
    pid_t pid = child_process_start(&helper);

    if (pid == 0)
        _exit(7);
    (void)see(pid, WEXITED);
    assert_true(child_process_has_ended(&helper, &status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_true(child_process_has_ended(&helper, &status));
    assert_int_equal(status, -1);
    assert_true(child_process_end(&helper));
}
