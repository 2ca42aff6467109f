/* SPDX-License-Identifier: MIT */
#include "support/child_patience.h"

#include "support/monotonic.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum {
    LOOK_MS = 100,
};

/* The state stays for who waits (WNOWAIT); one that goes on is not told of any more. */
static bool is_stopped(pid_t pid)
{
    siginfo_t state = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0
           && state.si_pid == pid;
}

bool child_patience_is_over(pid_t pid, uint64_t *stopped_ns)
{
    if (!is_stopped(pid))
        *stopped_ns = 0;
    else if (*stopped_ns == 0)
        *stopped_ns = monotonic_now_ns();
    return *stopped_ns && monotonic_now_ns() - *stopped_ns > CHILD_PATIENCE_NS;
}

static void look_after(pid_t pid, uint64_t *stopped_ns)
{
    if (child_patience_is_over(pid, stopped_ns))
        (void)kill(pid, SIGKILL);
}

bool child_patience_await(pid_t pid, int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    uint64_t stopped_ns = 0;
    int n;

    while ((n = poll(&end, 1, LOOK_MS)) == 0)
        if (pid > 0)
            look_after(pid, &stopped_ns);
    return n > 0;
}

static void wait_while_stopped(pid_t pid)
{
    const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000L};
    uint64_t stopped_ns = 0;

    for (look_after(pid, &stopped_ns); stopped_ns; look_after(pid, &stopped_ns))
        (void)nanosleep(&nap, NULL);
}

/* Sleeps until it has ended or is stopped; false: until a signal came, too. */
static bool see(pid_t pid)
{
    siginfo_t state;

    return waitid(P_PID, (id_t)pid, &state, WEXITED | WSTOPPED | WNOWAIT) == 0;
}

bool child_patience_wait(pid_t pid, int *ret_status)
{
    pid_t ended;

    do {
        if (see(pid))
            wait_while_stopped(pid);
        ended = waitpid(pid, ret_status, WNOHANG);
    } while (ended == 0 || (ended < 0 && errno == EINTR));
    return ended == pid;
}
