/* SPDX-License-Identifier: MIT */
/* What is said of a thread is so: of who may become another user, and of who was stopped; and
 * nothing of who is gone. */
#include "lib/process/proc_files.h"
#include "tests/lib/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* As another user, where we may become one; and once more when it was stopped. */
TEST(who_it_runs_as)
{
    const uid_t other = geteuid() == 0 ? 65534 : geteuid();
    struct thread_status status;
    siginfo_t info;
    pid_t pid;

    assert_true(thread_status_read(getpid(), getpid(), &status));
    assert_int_equal(status.uid, geteuid());
    assert_int_equal(status.state, 'R');
    pid = fork();
    if (pid == 0) {
        (void)!seteuid(other);
        (void)raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
    assert_true(thread_status_read(pid, pid, &status));
    assert_int_equal(status.uid, other);
    assert_int_equal(status.state, 'T');
    assert_int_equal(status.tracer, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(thread_status_read(pid, pid, &status));
}
