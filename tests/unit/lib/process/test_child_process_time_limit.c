/* SPDX-License-Identifier: MIT */
/* A child that works, however slowly, is waited for; one that stays stopped is ended, and a
 * continued one is not. */
#include "lib/process/child_process.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
    const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&nap, NULL);
}

/* Stops n times, each time until it is continued, and exits with 7. Holds an end of the pipe until
 * then. */
static pid_t start(int n, int *ret_fd)
{
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        while (n-- > 0)
            (void)raise(SIGSTOP);
        sleep_ms(300);
        _exit(7);
    }
    assert_true(pid > 0);
    close(fds[1]);
    *ret_fd = fds[0];
    return pid;
}

/* Continues the child whenever it has stopped. */
static pid_t start_to_continue(pid_t child)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;) {
            sleep_ms(50);
            (void)kill(child, SIGCONT);
        }
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(a_working_child_is_waited_for)
{
    int fd, status;
    pid_t pid = start(0, &fd);

    assert_true(child_time_limit_await(pid, fd));
    assert_true(child_time_limit_wait(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    close(fd);
}

TEST(a_running_child_is_waited_for)
{
    int fd, status;
    pid_t pid = start(5, &fd);
    pid_t other = start_to_continue(pid);

    assert_true(child_time_limit_wait(pid, &status));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    end(other);
    close(fd);
}

/* CP-1 */
TEST(a_child_that_stays_stopped_is_killed)
{
    int fd, status;
    pid_t pid = start(1, &fd);

    assert_true(child_time_limit_wait(pid, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(fd);
    pid = start(1, &fd);
    assert_true(child_time_limit_await(pid, fd));
    assert_true(child_time_limit_wait(pid, &status));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(fd);
}

/* The test may have been stopped, too. */
TEST(a_time_without_a_look_counts_little)
{
    struct child_time_limit time_limit = {0};
    siginfo_t info;
    int fd;
    pid_t pid = start(1, &fd);

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
    assert_false(child_time_limit_is_over(&time_limit, pid));
    time_limit.looked_ns -= 10 * CHILD_TIME_LIMIT_NS;
    assert_false(child_time_limit_is_over(&time_limit, pid));
    assert_in_range(time_limit.stopped_ns, 1, CHILD_TIME_LIMIT_NS / 2);
    end(pid);
    close(fd);
}

static void receive(int number)
{
    (void)number;
}

/* The caller must find out why it came. */
TEST(a_signal_ends_the_wait_for_words)
{
    struct sigaction action = {.sa_handler = receive};
    const struct timespec soon = {.tv_nsec = 50000000};
    const struct itimerspec when = {.it_value = soon, .it_interval = soon};
    timer_t timer;
    int fd, status;
    pid_t pid = start(1, &fd);

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &when, NULL), 0);
    assert_false(child_time_limit_await(pid, fd));
    assert_int_equal(errno, EINTR);
    assert_true(child_time_limit_wait(pid, &status));
    assert_int_equal(timer_delete(timer), 0);
    close(fd);
}

TEST(no_child_is_waited_for_twice)
{
    int fd, status;
    pid_t pid = start(0, &fd);

    assert_true(child_time_limit_wait(pid, &status));
    assert_false(child_time_limit_wait(pid, &status));
    close(fd);
}
