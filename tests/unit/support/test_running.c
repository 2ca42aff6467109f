/* SPDX-License-Identifier: MIT */
/* Who may still write to a log, by its header and a pid. */
#include "support/running.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    assert_int_equal(clock_gettime(clock, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Of a log that begins now. */
static struct log_file begin_log(void)
{
    return (struct log_file){.start_monotonic_ns = now_ns(CLOCK_MONOTONIC),
                             .start_unix_ns = now_ns(CLOCK_REALTIME)};
}

static void the_writer_itself(void **state)
{
    struct log_file header = begin_log();

    (void)state;
    assert_true(running_writes(getpid(), &header));
    assert_false(running_writes(0, &header)); /* nobody */
}

static void nothing_recorded_yet(void **state)
{
    struct log_file header = {.start_unix_ns = 0};

    (void)state;
    assert_true(running_writes(getpid(), &header));
}

/* The log began a minute after the machine, and this process later than that. */
static void a_later_process_has_the_pid(void **state)
{
    struct log_file header = begin_log();
    uint64_t up_ns = now_ns(CLOCK_MONOTONIC);

    (void)state;
    if (up_ns < UINT64_C(600) * 1000000000)
        skip();
    header.start_monotonic_ns = UINT64_C(60) * 1000000000;
    header.start_unix_ns -= up_ns - header.start_monotonic_ns;
    assert_false(running_writes(getpid(), &header));
}

/* The same pid, as long after the start of an earlier boot. */
static void the_machine_was_started_anew(void **state)
{
    struct log_file header = begin_log();

    (void)state;
    header.start_unix_ns -= now_ns(CLOCK_BOOTTIME) + UINT64_C(86400) * 1000000000;
    header.start_monotonic_ns += UINT64_C(86400) * 1000000000;
    assert_false(running_writes(getpid(), &header));
}

static void a_process_that_ended(void **state)
{
    struct log_file header = begin_log();
    pid_t pid = fork();
    siginfo_t info;

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_false(running_writes(pid, &header)); /* not waited for yet */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(running_writes(pid, &header));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_writer_itself),
        cmocka_unit_test(nothing_recorded_yet),
        cmocka_unit_test(a_later_process_has_the_pid),
        cmocka_unit_test(the_machine_was_started_anew),
        cmocka_unit_test(a_process_that_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
