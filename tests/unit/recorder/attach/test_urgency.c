/* SPDX-License-Identifier: MIT */
/* Which threads are lifted, and that they and we get back what there was. */
#include "recorder/attach/urgency.h"

#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

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

static struct urgency taken(pid_t pid)
{
    struct urgency urgency = {.is_taken = false};

    urgency_look(&urgency, pid);
    urgency_take(&urgency);
    if (!urgency.is_taken)
        skip(); /* this user may schedule nothing in real time */
    return urgency;
}

static void set(pid_t pid, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};

    assert_int_equal(sched_setscheduler(pid, policy, &param), 0);
}

static int priority_of(pid_t pid)
{
    struct sched_param param;

    assert_int_equal(sched_getparam(pid, &param), 0);
    return param.sched_priority;
}

/* Also where it was no ordinary one. */
static void what_was_is_punched_hole(void **unused)
{
    const int policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE,
                            SCHED_BATCH | SCHED_RESET_ON_FORK};
    const pid_t pid = start();
    struct urgency urgency = taken(pid);

    (void)unused;
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 7), 0);
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        struct urgency_before before = {.policy = -1};
        set(pid, policies[i], 0);
        assert_true(urgency_find(&urgency, pid, &before));
        assert_int_equal(before.policy, policies[i]);
        assert_true(urgency_lift(pid, &before));
        assert_int_equal(sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK, SCHED_FIFO);
        assert_true(priority_of(0) > priority_of(pid)); /* UR-2 */
        urgency_lower(pid, &before);
        assert_int_equal(sched_getscheduler(pid), policies[i]);
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), 7);
    }
    end(pid);
    urgency_give(&urgency);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    urgency_give(&urgency);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

static uint64_t slack_of(pid_t pid)
{
    char path[64];
    uint64_t ns = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/timerslack_ns", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%" SCNu64, &ns), 1);
    assert_int_equal(fclose(file), 0);
    return ns;
}

/* Newer kernels (6.12) have none for who is in real time, and give who leaves it another one. */
static void timer_slack_is_punched_hole(void **unused)
{
    const uint64_t slack_ns = 5000000;
    int ready[2];
    char byte;
    pid_t pid;

    (void)unused;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_TIMERSLACK, slack_ns);
        (void)!write(ready[1], "", 1);
        (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct urgency urgency = taken(pid);
    struct urgency_before before;
    assert_true(urgency_find(&urgency, pid, &before));
    assert_true(before.timer_slack_ns == slack_ns);
    assert_true(urgency_lift(pid, &before));
    urgency_lower(pid, &before);
    assert_true(slack_of(pid) == slack_ns);
    urgency_give(&urgency);
    end(pid);
    assert_int_equal(close(ready[0]) | close(ready[1]), 0);
}

/* Who is in real time is urgent already; who has a limit of such time may be killed for it. */
static void others_are_left_alone(void **unused)
{
    const struct rlimit limit = {.rlim_cur = 1000000, .rlim_max = 1000000};
    const pid_t pid = start();
    struct urgency none = {.is_taken = false};
    struct urgency urgency = taken(pid);
    struct urgency_before before = {.policy = SCHED_OTHER};

    (void)unused;
    urgency_look(&none, pid);
    assert_false(urgency_find(&none, pid, &before)); /* UR-2 */
    set(pid, SCHED_RR, 1);
    assert_false(urgency_find(&urgency, pid, &before));
    set(pid, SCHED_OTHER, 0);
    assert_true(urgency_find(&urgency, pid, &before));
    assert_int_equal(prlimit(pid, RLIMIT_RTTIME, &limit, NULL), 0);
    urgency_look(&urgency, pid);
    assert_false(urgency_find(&urgency, pid, &before));
    set(pid, SCHED_FIFO, 7); /* by somebody else, meanwhile */
    urgency_lower(pid, &before);
    assert_int_equal(sched_getscheduler(pid), SCHED_FIFO);
    end(pid);
    urgency_look(&urgency, pid);
    assert_false(urgency_find(&urgency, pid, &before));
    urgency_give(&urgency);
}

/* Of Linux 6.12; where there is none it is refused, or none is to be lost. */
static void a_slice_of_its_own_is_kept(void **unused)
{
    const uint64_t own_ns = 5000000;

    struct {
        uint32_t n_bytes, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline_ns, period_ns;
    } attributes = {.n_bytes = 48, .policy = SCHED_OTHER, .slice_ns = own_ns};

    const pid_t pid = start();
    struct urgency urgency = taken(pid);
    struct urgency_before before = {.policy = -1};

    (void)unused;
    assert_true(urgency_find(&urgency, pid, &before));
    if (syscall(SYS_sched_setattr, pid, &attributes, 0) == 0
        && syscall(SYS_sched_getattr, pid, &attributes, sizeof(attributes), 0) == 0
        && attributes.slice_ns == own_ns)
        assert_false(urgency_find(&urgency, pid, &before));
    end(pid);
    urgency_give(&urgency);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_is_punched_hole), cmocka_unit_test(timer_slack_is_punched_hole),
        cmocka_unit_test(others_are_left_alone), cmocka_unit_test(a_slice_of_its_own_is_kept)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
