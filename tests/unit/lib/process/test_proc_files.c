/* SPDX-License-Identifier: MIT */
/* Facts about threads from /proc are right: about permitted user changes, and stops; exited threads
 * have none. */
#include "lib/process/proc_files.h"
#include "tests/lib/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs as another user, if the test may become one; and once more after a stop. */
TEST(the_user_of_a_process)
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
