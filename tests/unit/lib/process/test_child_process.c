/* SPDX-License-Identifier: MIT */
/* A child process is in its own group from the start, and ends on request, whatever it does with
 * signals. */
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

/* Waits until it has ended or stopped, and leaves the status to the caller's wait. Returns the
 * status, or the signal. */
static int see(pid_t pid, int what)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, what | WNOWAIT), 0);
    return info.si_status;
}

/* Otherwise a signal to the group reaches no process, or the test itself. */
TEST(it_has_its_group_immediately)
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

/* The requested signal ends it, though the test ignores that and blocks all. */
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

/* Ignores termination signals, and stops. */
TEST(a_child_that_ignores_termination_is_killed)
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

/* A stopped child receives the termination signal, and need not be killed. */
TEST(a_stopped_child_ends_on_request)
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

/* HE-2: a working child is left alone; a stopped one is killed. */
TEST(a_stopped_child_is_not_waited_for)
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

TEST(a_child_that_exits_is_reported_once)
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
