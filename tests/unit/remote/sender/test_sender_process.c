/* SPDX-License-Identifier: MIT */
/* The sending process, if it cannot be started. */
#include "remote/sender/sender_process.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    N_TRIES = 20,
};

static unsigned g_n_tries;
static bool g_may_start, g_hangs;

pid_t __real_child_process_start(struct child_process *helper);
pid_t __wrap_child_process_start(struct child_process *helper);

/* Or as where there may be no more processes. */
pid_t __wrap_child_process_start(struct child_process *helper)
{
    g_n_tries++;
    if (g_may_start) {
        pid_t pid = __real_child_process_start(helper);
        while (pid == 0 && g_hangs)
            (void)pause();
        return pid;
    }
    *helper = (struct child_process){.pid = 0};
    return -1;
}

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(fd);
    return fd;
}

TEST(tries_keep_nothing_open)
{
    const struct sending sending = {.words = {"--to=localhost:1"}, .n_words = 1, .timeout_ns = 1};
    struct sender_process sender;
    int fd = next_descriptor();

    sender_process_start(&sender, "/bin/true", &sending, "run.dat");
    for (uint64_t i = 1; i < N_TRIES; i++)
        sender_process_step(&sender, i * UINT64_C(1000000000));
    assert_int_equal(g_n_tries, N_TRIES);
    assert_int_equal(next_descriptor(), fd);
    assert_false(sender.is_open);
    sender_process_finish(&sender, true, N_TRIES * UINT64_C(1000000000));
    assert_true(sender_process_has_ended(&sender, N_TRIES * UINT64_C(1000000000)));
    assert_int_equal(next_descriptor(), fd);
}

static char g_printed[4096];

/* The output at the end of a sender that is killed (0: not), or without a sender. */
static const char *end_of(bool may_start, int number, const char *program)
{
    const struct sending sending = {.words = {"--to=localhost:1"}, .n_words = 1, .timeout_ns = 1};
    struct sender_process sender = {.program = NULL};
    FILE *output = tmpfile();
    int before = dup(STDERR_FILENO);

    assert_non_null(output);
    assert_true(dup2(fileno(output), STDERR_FILENO) >= 0);
    g_may_start = may_start;
    g_hangs = number != 0;
    if (program)
        sender_process_start(&sender, program, &sending, "run.dat");
    sender_process_finish(&sender, true, 0);
    if (number)
        assert_int_equal(kill(sender.child.pid, number), 0);
    while (!sender_process_has_ended(&sender, 0))
        (void)usleep(1000);
    sender_process_abandon(&sender);
    (void)dup2(before, STDERR_FILENO);
    close(before);
    rewind(output);
    g_printed[fread(g_printed, 1, sizeof(g_printed) - 1, output)] = '\0';
    (void)fclose(output);
    return g_printed;
}

/* SP-2 */
TEST(unknown_states_are_printed)
{
    assert_non_null(strstr(end_of(false, 0, "/bin/true"), "--send 'run.dat' '--to=localhost:1'"));
    assert_non_null(strstr(end_of(true, SIGKILL, "/bin/true"), "--send 'run.dat'"));
    assert_null(strstr(end_of(true, 0, "/bin/true"), "--send"));
    assert_null(strstr(end_of(true, 0, NULL), "--send"));
}
