/* SPDX-License-Identifier: MIT */
#include "lib/process/child_time_limit.h"

#include "lib/base/monotonic.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum {
    LOOK_MS = 100,
    MOST_COUNTED_NS = 2 * LOOK_MS * 1000000, /* counted from one look to the next, at most */
};

/* The status stays for the caller's wait (WNOWAIT). A child that has continued is not reported any
 * more. */
static bool is_stopped(pid_t pid)
{
    siginfo_t state = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0
           && state.si_pid == pid;
}

bool child_time_limit_is_over(struct child_time_limit *time_limit, pid_t pid)
{
    uint64_t now_ns = monotonic_now_ns();
    uint64_t since_ns = now_ns - time_limit->looked_ns;

    time_limit->looked_ns = now_ns;
    if (is_stopped(pid))
        time_limit->stopped_ns += since_ns < MOST_COUNTED_NS ? since_ns : MOST_COUNTED_NS;
    else
        time_limit->stopped_ns = 0;
    return time_limit->stopped_ns > CHILD_TIME_LIMIT_NS;
}

static void look_after(struct child_time_limit *time_limit, pid_t pid)
{
    if (child_time_limit_is_over(time_limit, pid))
        (void)kill(pid, SIGKILL);
}

bool child_time_limit_await(pid_t pid, int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    struct child_time_limit time_limit = {0};
    int n;

    while ((n = poll(&end, 1, LOOK_MS)) == 0)
        if (pid > 0)
            look_after(&time_limit, pid);
    return n > 0;
}

static void wait_while_stopped(pid_t pid)
{
    const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000L};
    struct child_time_limit time_limit = {0};

    for (look_after(&time_limit, pid); time_limit.stopped_ns; look_after(&time_limit, pid))
        (void)nanosleep(&nap, NULL);
}

/* Sleeps until the child has ended or stopped; false: also if a signal arrives. */
static bool see(pid_t pid)
{
    siginfo_t state;

    return waitid(P_PID, (id_t)pid, &state, WEXITED | WSTOPPED | WNOWAIT) == 0;
}

bool child_time_limit_wait(pid_t pid, int *ret_status)
{
    pid_t ended;

    do {
        if (see(pid))
            wait_while_stopped(pid);
        ended = waitpid(pid, ret_status, WNOHANG);
    } while (ended == 0 || (ended < 0 && errno == EINTR));
    return ended == pid;
}
