/* SPDX-License-Identifier: MIT */
/* Which process is named as tracer of a thread that cannot be traced. */
#include "recorder/attach/tracee.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(void)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where a check fails */
        (void)pause();
        _exit(1);
    }
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool stop(pid_t pid, struct error *ret_err)
{
    const struct target target = {.pid = pid};
    struct tracee tracee = {.target = &target, .tid = pid, .memory = -1};

    *ret_err = (struct error){.text = ""};
    return tracee_stop(&tracee, ret_err);
}

struct holder {
    pthread_barrier_t barrier;
    pid_t pid;
    bool is_held;
};

static void *hold(void *context)
{
    struct holder *holder = context;

    holder->is_held = ptrace(PTRACE_SEIZE, holder->pid, 0, 0) == 0;
    pthread_barrier_wait(&holder->barrier); /* it is held */
    pthread_barrier_wait(&holder->barrier); /* that was looked at */
    return NULL;
}

/* As a joined thread may be, which the kernel is still about to end. */
TEST(a_thread_of_the_recorder_is_no_debugger)
{
    struct holder holder = {.pid = start()};
    struct error err;
    pthread_t thread;

    assert_int_equal(pthread_barrier_init(&holder.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, hold, &holder), 0);
    pthread_barrier_wait(&holder.barrier);
    assert_true(holder.is_held);
    assert_false(stop(holder.pid, &err));
    assert_string_equal(err.text, "");
    assert_int_equal(err.code, 0);
    pthread_barrier_wait(&holder.barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_barrier_destroy(&holder.barrier), 0);
    end(holder.pid);
}

TEST(another_process_is)
{
    const pid_t pid = start();
    const pid_t parent = getpid();
    int ready[2];
    char byte = 0;
    struct error err;
    pid_t other;

    assert_int_equal(pipe(ready), 0);
    other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        byte = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 ? 'y' : 'n';
        if (getppid() == parent && write(ready[1], &byte, 1) == 1)
            (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    if (byte == 'y') { /* otherwise only a parent may trace here */
        assert_false(stop(pid, &err));
        assert_non_null(strstr(err.text, "a debugger"));
    }
    end(other);
    end(pid);
    assert_int_equal(close(ready[0]) | close(ready[1]), 0);
}
