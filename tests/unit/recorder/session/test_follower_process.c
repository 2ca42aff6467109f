/* SPDX-License-Identifier: MIT */
/* A failed follower of a bounded log is replaced immediately, but one that ends at each start is
 * neither started nor waited for ten times a second; none outlives its recorder. */
#include "lib/logfile/log_rotation.h"
#include "recorder/session/follower_process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static const uint64_t step_ns = 20000000;
static const uint64_t second_ns = 1000000000;

/* Leaves it to be seen by who looks after it. */
static void wait_for_end(const struct follower_process *follower)
{
    siginfo_t info;

    if (follower->child.pid > 0)
        assert_int_equal(waitid(P_PID, (id_t)follower->child.pid, &info, WEXITED | WNOWAIT), 0);
}

/* How many are begun from one time to another, if each ends immediately. */
static int count_starts(struct follower_process *follower, uint64_t from_ns, uint64_t until_ns)
{
    int n = 0;

    for (uint64_t now_ns = from_ns; now_ns < until_ns; now_ns += step_ns) {
        uint64_t before_ns = follower->begun_ns;
        wait_for_end(follower);
        follower_process_keep_up(follower, now_ns, "/bin/false");
        n += follower->begun_ns != before_ns;
    }
    return n;
}

static void one_that_fails_is_tried_less_and_less_often(void **state)
{
    struct follower_process follower = {
        .ring = {.log_path = "run.dat", .written_bytes = LOG_ROTATION_BYTES}};

    (void)state;
    assert_in_range(count_starts(&follower, second_ns, 3 * second_ns), 4, 6);
    assert_in_range(count_starts(&follower, 3 * second_ns, 61 * second_ns), 3, 6);
    assert_in_range(count_starts(&follower, 121 * second_ns, 421 * second_ns), 4, 7);
    follower_process_done(&follower);
}

static void one_that_lasted_is_followed_at_once(void **state)
{
    struct follower_process follower = {
        .ring = {.log_path = "run.dat", .written_bytes = LOG_ROTATION_BYTES}};
    uint64_t now_ns = 61 * second_ns;
    pid_t first;

    (void)state;
    (void)count_starts(&follower, second_ns, now_ns);
    wait_for_end(&follower);
    now_ns += 60 * second_ns;
    follower_process_keep_up(&follower, now_ns, "/proc/self/exe"); /* until it is killed */
    first = follower.child.pid;
    assert_true(first > 0);
    now_ns += 600 * second_ns;
    follower_process_keep_up(&follower, now_ns, "/proc/self/exe");
    assert_int_equal(follower.child.pid, first);
    assert_int_equal(kill(first, SIGKILL), 0);
    wait_for_end(&follower);
    follower_process_keep_up(&follower, now_ns + second_ns / 10, "/bin/false");
    assert_int_equal(follower.begun_ns, now_ns + second_ns / 10);
    follower_process_done(&follower);
}

/* 'R', 'S', 'T', …; 0: it is not there. */
static char state_of(pid_t pid)
{
    char path[64];
    char text[512] = "";
    const char *name_end;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end[2] : (char)0;
}

static void await_state(pid_t pid, char state)
{
    while (state_of(pid) != state)
        (void)usleep(1000);
}

/* As a recorder whose follower lasts. */
static void keep_one(int out)
{
    struct follower_process follower = {.ring = {.log_path = "run.dat"}};

    follower_process_start(&follower, "/proc/self/exe");
    if (write(out, &follower.child.pid, sizeof follower.child.pid) > 0)
        for (;;)
            (void)pause();
    _exit(1);
}

static void one_that_is_stopped_ends_with_its_recorder(void **state)
{
    int ends[2];
    pid_t recorder, follower;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    recorder = fork();
    if (recorder == 0)
        keep_one(ends[1]);
    assert_int_equal(read(ends[0], &follower, sizeof follower), sizeof follower);
    await_state(follower, 'S'); /* it waits, so it is what was started */
    assert_int_equal(kill(follower, SIGSTOP), 0);
    await_state(follower, 'T');
    assert_int_equal(kill(recorder, SIGKILL), 0);
    assert_int_equal(waitpid(recorder, NULL, 0), recorder);
    alarm(60);
    assert_int_equal(waitpid(follower, NULL, 0), follower);
    alarm(0);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) /* as a follower that lasts */
        for (;;)
            (void)pause();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_fails_is_tried_less_and_less_often),
        cmocka_unit_test(one_that_lasted_is_followed_at_once),
        cmocka_unit_test(one_that_is_stopped_ends_with_its_recorder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
