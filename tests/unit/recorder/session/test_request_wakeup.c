/* SPDX-License-Identifier: MIT */
/* Who sleeps is woken by a question, once, and by nothing else; and whatever becomes of the file, the bell can be taken down. */
#include "lib/abi/log_format.h"
#include "recorder/session/request_wakeup.h"

#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static int file;
static struct log_request *question;
static sigset_t signals;

static int set_up(void **state)
{
    void *page;

    (void)state;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    file = memfd_create("log", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, LOG_FILE_HEADER_BYTES) != 0)
        return -1;
    page = mmap(NULL, LOG_FILE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    question = page == MAP_FAILED ? NULL : log_request_of(page);
    return question ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    munmap((char *)question - LOG_REQUEST_OFFSET, LOG_FILE_HEADER_BYTES);
    close(file);
    return 0;
}

static void wake(void)
{
    (void)syscall(SYS_futex, &question->n_posted, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
                  UINT32_MAX);
}

static void ask(uint32_t number)
{
    atomic_store_explicit(&question->n_posted, number, memory_order_release);
    wake();
}

static bool rings_within(time_t seconds, long ns)
{
    const struct timespec timeout = {.tv_sec = seconds, .tv_nsec = ns};

    return sigtimedwait(&signals, NULL, &timeout) == SIGCHLD;
}

static void rings_once_each_time_that_it_is_set(void **state)
{
    struct request_wakeup *wakeup = request_wakeup_new(file);

    (void)state;
    assert_non_null(wakeup);
    request_wakeup_set(wakeup, 0);
    assert_false(rings_within(0, 50000000));
    ask(1);
    assert_true(rings_within(60, 0));
    ask(2);
    assert_false(rings_within(0, 50000000));
    request_wakeup_set(wakeup, 1); /* what was asked meanwhile */
    assert_true(rings_within(60, 0));
    request_wakeup_set(wakeup, 2);
    assert_false(rings_within(0, 50000000));
    request_wakeup_done(wakeup);
    assert_false(rings_within(0, 0));
}

/* Whoever wakes the thread, it goes on to wait for the question. */
static void does_not_ring_for_a_wake_alone(void **state)
{
    struct request_wakeup *wakeup = request_wakeup_new(file);

    (void)state;
    assert_non_null(wakeup);
    request_wakeup_set(wakeup, 0);
    for (int i = 0; i < 3; i++) {
        assert_false(rings_within(0, 50000000));
        wake();
    }
    assert_false(rings_within(0, 50000000));
    ask(1);
    assert_true(rings_within(60, 0));
    request_wakeup_done(wakeup);
}

static void is_taken_down_in_any_state(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        struct request_wakeup *wakeup = request_wakeup_new(file);
        if (i % 2)
            request_wakeup_set(wakeup, i % 4 == 1 ? 0 : 7);
        request_wakeup_done(wakeup);
    }
    request_wakeup_set(NULL, 0);
    request_wakeup_done(NULL);
    (void)rings_within(0, 0);
}

static void survives_a_file_that_was_cut(void **state)
{
    struct request_wakeup *wakeup = request_wakeup_new(file);

    (void)state;
    assert_int_equal(ftruncate(file, 0), 0);
    request_wakeup_set(wakeup, 0);
    assert_false(rings_within(0, 50000000));
    request_wakeup_set(wakeup, 1);
    request_wakeup_done(wakeup);
}

/* No wake reaches it any more. */
static void is_taken_down_where_the_file_was_cut_while_it_waits(void **state)
{
    struct request_wakeup *wakeup = request_wakeup_new(file);

    (void)state;
    assert_non_null(wakeup);
    request_wakeup_set(wakeup, 0);
    assert_false(rings_within(0, 50000000));
    assert_int_equal(ftruncate(file, 0), 0);
    request_wakeup_done(wakeup);
    assert_false(rings_within(0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rings_once_each_time_that_it_is_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_taken_down_in_any_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(does_not_ring_for_a_wake_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_a_file_that_was_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_taken_down_where_the_file_was_cut_while_it_waits, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
