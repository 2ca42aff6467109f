/* SPDX-License-Identifier: MIT */
/* CPU time of recorded processes: two children work, and wait4 returns the same. */
#include "importer/cli/program_cpu.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

#define WORK_NS UINT64_C(50000000)

static uint64_t own_ns(void)
{
    struct timespec cpu;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
}

/* A child that has worked, and stopped. */
static pid_t start_worker(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        while (own_ns() < WORK_NS)
            continue;
        (void)raise(SIGSTOP);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

/* What the kernel says of it at its end. */
static uint64_t end_worker(pid_t pid)
{
    struct rusage usage;
    int status;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000
           + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void sums_of_those_that_are_asked_for(void **state)
{
    pid_t workers[] = {start_worker(), start_worker()};
    struct definitions_process processes[] = {{0},
                                              {.pid = (uint32_t)workers[0]},
                                              {.pid = (uint32_t)workers[1], .end_kind = "running"},
                                              {.pid = 0},
                                              {.pid = (uint32_t)workers[1], .end_kind = "exec"}};
    struct definitions definitions = {.processes = processes, .n_processes = 4};
    struct program_cpu cpu = {.n = 0};

    (void)state;
    uint64_t before_ns = program_cpu_ns(&cpu, &definitions);
    uint64_t first_ns = end_worker(workers[0]);
    assert_int_equal(program_cpu_ns(&cpu, &definitions), before_ns); /* it keeps what it had */
    uint64_t second_ns = end_worker(workers[1]);
    assert_true(before_ns >= 2 * WORK_NS && before_ns <= first_ns + second_ns + 2000);
    assert_int_equal(program_cpu_ns(&cpu, &definitions), before_ns);
    program_cpu_done(&cpu);
    assert_int_equal(program_cpu_ns(&cpu, &definitions), 0);
    program_cpu_done(&cpu);
}

/* Another process has the PID of one that ended. */
static void leaves_out_who_has_a_pid_now(void **state)
{
    pid_t other = start_worker();
    struct definitions_process processes[] = {{0},
                                              {.pid = (uint32_t)other, .end_kind = "exit"},
                                              {.pid = (uint32_t)other, .end_kind = "signal"}};
    struct definitions definitions = {.processes = processes, .n_processes = 2};
    struct program_cpu cpu = {.n = 0};

    (void)state;
    assert_int_equal(program_cpu_ns(&cpu, &definitions), 0);
    (void)end_worker(other);
    program_cpu_done(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_those_that_are_asked_for),
                                       cmocka_unit_test(leaves_out_who_has_a_pid_now)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
