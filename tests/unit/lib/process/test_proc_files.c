/* SPDX-License-Identifier: MIT */
/* What is said of a thread is so: of who may become another user, and of who was stopped; and
 * nothing of who is gone. */
#include "lib/process/proc_files.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

/* As another user, where we may become one; and once more when it was stopped. */
static void who_it_runs_as(void **state)
{
    const uid_t other = geteuid() == 0 ? 65534 : geteuid();
    struct thread_status status;
    siginfo_t info;
    pid_t pid;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_it_runs_as),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
