/* SPDX-License-Identifier: MIT */
/* The process that sends, where it cannot be started. */
#include "recorder/sending/sender_process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    N_TRIES = 20,
};

static unsigned g_n_tries;

pid_t __wrap_helper_start(struct helper *helper);

/* As where there may be no more processes. */
pid_t __wrap_helper_start(struct helper *helper)
{
    g_n_tries++;
    *helper = (struct helper){.pid = 0};
    return -1;
}

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(fd);
    return fd;
}

static void tries_keep_nothing_open(void **state)
{
    const struct sending sending = {.words = {"--to=localhost:1"}, .n_words = 1, .timeout_ns = 1};
    struct sender_process sender;
    int fd = next_descriptor();

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tries_keep_nothing_open)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
