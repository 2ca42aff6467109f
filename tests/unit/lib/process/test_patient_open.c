/* SPDX-License-Identifier: MIT */
/* A file that somebody has leased for a moment. */
#include "lib/process/patient_open.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

/* Who asks who has it open, and loses the processor before it gives the lease back. */
static void hold_lease(const char *path, int ready)
{
    const struct timespec while_held = {.tv_nsec = 200000000};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool is_held =
        fd >= 0 && fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;

    (void)!write(ready, is_held ? "y" : "n", 1);
    nanosleep(&while_held, NULL);
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    _exit(0);
}

static void a_lease_is_waited_for(void **state)
{
    char path[] = "/tmp/mtrace-test-patient-XXXXXX";
    int made = mkostemp(path, O_CLOEXEC);
    int ready[2];
    char answer = 'n';
    int fd;

    (void)state;
    assert_true(made >= 0);
    close(made);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        hold_lease(path, ready[1]);
    assert_int_equal(read(ready[0], &answer, 1), 1);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (answer == 'y')
        assert_true(fd < 0 && errno == EWOULDBLOCK);
    if (fd >= 0)
        close(fd);
    fd = patient_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
    unlink(path);
}

static void what_is_not_there_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(patient_open("/nowhere/at/all", O_RDONLY | O_CLOEXEC | O_NONBLOCK), -1);
    assert_int_equal(errno, ENOENT);
}

static void who_would_write_into_a_pipe_is_not_waited_for(void **state)
{
    char path[] = "/tmp/mtrace-test-patient-XXXXXX";
    int fd;

    (void)state;
    assert_non_null(mkdtemp(path));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    fd = patient_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_is_waited_for),
        cmocka_unit_test(what_is_not_there_is_not_waited_for),
        cmocka_unit_test(who_would_write_into_a_pipe_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
