/* SPDX-License-Identifier: MIT */
#include "lib/process/child_process.h"

#include "lib/base/monotonic.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- any child ---- */

enum {
    LOOK_MS = 100,
    MAX_COUNTED_NS = 2 * LOOK_MS * 1000000, /* counted from one look to the next, at most */
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
        time_limit->stopped_ns += since_ns < MAX_COUNTED_NS ? since_ns : MAX_COUNTED_NS;
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

/* ---- children of the recorder ---- */

enum {
    NAP_NS = 2000000
};

/* In the child. The replacement of a closed descriptor (mtrace_record.c) is not closed here: the
 * child would get a file of its own with this number. */
static void be_apart(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPIPE, SIGCHLD};
    sigset_t none;

    (void)setpgid(0, 0);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)signal(numbers[i], SIG_DFL);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)fcntl(fd, F_SETFD, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Parent and child both create the group, so it exists when the parent signals it. */
pid_t child_process_start(struct child_process *child)
{
    pid_t pid = fork();

    if (pid == 0)
        be_apart();
    else if (pid > 0)
        (void)setpgid(pid, pid);
    *child = (struct child_process){.pid = pid > 0 ? pid : 0};
    return pid;
}

bool child_process_has_ended(struct child_process *child, int *ret_status)
{
    int status = -1;
    pid_t ended = child->pid > 0 ? waitpid(child->pid, &status, WNOHANG) : -1;

    if (ended == 0 || (ended < 0 && child->pid > 0 && errno == EINTR))
        return false;
    if (ret_status)
        *ret_status = ended > 0 ? status : -1;
    *child = (struct child_process){.pid = 0};
    return true;
}

void child_process_watch(struct child_process *child)
{
    if (child->pid > 0 && child_time_limit_is_over(&child->time_limit, child->pid))
        (void)kill(-child->pid, SIGKILL);
}

bool child_process_end(struct child_process *child)
{
    uint64_t now_ns = monotonic_now_ns();

    if (child_process_has_ended(child, NULL))
        return true;
    if (now_ns < child->due_ns)
        return false;
    if (child->is_killed) {
        *child = (struct child_process){.pid = 0};
        return true;
    }
    child->is_killed = child->due_ns > 0;
    (void)kill(-child->pid, child->is_killed ? SIGKILL : SIGTERM);
    (void)kill(-child->pid, SIGCONT); /* a stopped process would not handle SIGTERM */
    child->due_ns = now_ns + CHILD_PROCESS_TIME_LIMIT_NS;
    return false;
}

void child_process_end_now(struct child_process *child)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};

    while (!child_process_end(child))
        nanosleep(&nap, NULL);
}
