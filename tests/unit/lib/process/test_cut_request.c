/* SPDX-License-Identifier: MIT */
/* Either side may hang up at any time: the other one notices, and receives sent replies. */
#include "lib/process/cut_request.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    LONG_MS = 60000,
    SHORT_MS = 50,
};

static const struct cut_request wanted = {.asked_ns = 1,
                                          .until_ns = 2,
                                          .marker_ticks = 3,
                                          .run_id = 4,
                                          .until_marker = "a marker",
                                          .target = "/a/target"};
static const struct cut_order order = {.extent = CUT_SITES, .has_symbols = true};
static int ends[2]; /* of who asks, and of who is asked */

static int set_up(void **state)
{
    (void)state;
    return cut_request_open(ends);
}

static int tear_down(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static int begin_and_take(int *ret_reply_fd)
{
    struct cut_request taken;
    int own_end = cut_request_begin(ends[0], &wanted);

    assert_true(own_end >= 0);
    assert_int_equal(cut_request_take(ends[1], &taken, ret_reply_fd), 1);
    assert_memory_equal(&taken, &wanted, sizeof taken);
    assert_int_equal(fcntl(*ret_reply_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    return own_end;
}

/* ---- who is asked does what he does between the order and the wait for the reply ---- */

enum manner {
    HEARS_AND_REPLIES,
    REPLIES_UNHEARD, /* and hangs up with the order unread */
    HANGS_UP_RECEIVED,
    HANGS_UP_UNHEARD,
};

struct asked {
    enum manner manner;
    int reply_fd;
    bool has_received;
    struct cut_order received;
};

static struct asked *serves_next; /* as soon as something was sent */

static void serve(struct asked *asked)
{
    const struct cut_reply reply = {.code = -3, .has_no_room = true, .text = "why"};

    if (asked->manner == HEARS_AND_REPLIES || asked->manner == HANGS_UP_RECEIVED)
        asked->has_received = cut_request_receive(asked->reply_fd, LONG_MS, &asked->received);
    if (asked->manner == HEARS_AND_REPLIES || asked->manner == REPLIES_UNHEARD)
        cut_request_reply(asked->reply_fd, &reply);
    close(asked->reply_fd);
}

ssize_t __real_send(int fd, const void *bytes, size_t n_bytes, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n_bytes, int flags);

ssize_t __wrap_send(int fd, const void *bytes, size_t n_bytes, int flags)
{
    ssize_t n = __real_send(fd, bytes, n_bytes, flags);
    struct asked *asked = serves_next;

    serves_next = NULL;
    if (asked)
        serve(asked);
    return n;
}

static bool finish_with(struct asked *asked, struct cut_reply *ret_reply)
{
    int own_end = begin_and_take(&asked->reply_fd);

    serves_next = asked;
    return cut_request_finish(own_end, &order, ret_reply);
}

static void an_order_is_received_and_replied_to(void **state)
{
    struct asked asked = {.manner = HEARS_AND_REPLIES};
    struct cut_reply reply;

    (void)state;
    assert_true(finish_with(&asked, &reply));
    assert_true(asked.has_received);
    assert_int_equal(asked.received.extent, CUT_SITES);
    assert_true(asked.received.has_symbols);
    assert_int_equal(reply.code, -3);
    assert_true(reply.has_no_room);
    assert_string_equal(reply.text, "why");
}

/* What the kernel says of the unread order is not the end. */
static void a_reply_to_an_unread_order_is_received(void **state)
{
    struct asked asked = {.manner = REPLIES_UNHEARD};
    struct cut_reply reply;

    (void)state;
    assert_true(finish_with(&asked, &reply));
    assert_string_equal(reply.text, "why");
}

/* He may have hung up before the order was sent. */
static void a_reply_from_before_the_order_is_received(void **state)
{
    const struct cut_reply early = {.text = "early"};
    struct cut_reply reply;
    int reply_fd;
    int own_end = begin_and_take(&reply_fd);

    (void)state;
    cut_request_reply(reply_fd, &early);
    close(reply_fd);
    assert_true(cut_request_finish(own_end, &order, &reply));
    assert_string_equal(reply.text, "early");
}

static void a_requester_sees_a_missing_reply(void **state)
{
    struct asked deaf = {.manner = HANGS_UP_UNHEARD}, gone = {.manner = HANGS_UP_RECEIVED};
    struct cut_reply reply;

    (void)state;
    assert_false(finish_with(&deaf, &reply));
    assert_false(finish_with(&gone, &reply));
    assert_true(gone.has_received);
}

/* CR-1 */
static void who_hangs_up_is_not_received(void **state)
{
    const struct cut_reply reply = {.code = 0};
    struct cut_order received;
    int reply_fd;
    int own_end = begin_and_take(&reply_fd);

    (void)state;
    cut_request_cancel(own_end);
    cut_request_cancel(-1);
    assert_false(cut_request_receive(reply_fd, LONG_MS, &received));
    cut_request_reply(reply_fd, &reply); /* to nobody, and no signal says so */
    close(reply_fd);
}

static void who_says_nothing_is_not_waited_for(void **state)
{
    struct cut_reply reply;
    struct cut_order received;
    int reply_fd;
    int own_end = begin_and_take(&reply_fd);

    (void)state;
    assert_false(cut_request_receive(reply_fd, SHORT_MS, &received));
    close(reply_fd);
    assert_false(cut_request_finish(own_end, &order, &reply)); /* now he knows */
}

static void take_signal(int number)
{
    (void)number;
}

static void a_signal_ends_the_wait_for_the_order(void **state)
{
    struct sigaction action = {.sa_handler = take_signal};
    const struct timespec soon = {.tv_nsec = SHORT_MS * 1000000};
    const struct itimerspec when = {.it_value = soon, .it_interval = soon};
    struct cut_order received;
    timer_t timer;
    int reply_fd;
    int own_end = begin_and_take(&reply_fd);

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &when, NULL), 0);
    assert_false(cut_request_receive(reply_fd, -1, &received));
    assert_int_equal(timer_delete(timer), 0);
    cut_request_cancel(own_end);
    close(reply_fd);
}

static void both_see_the_end_of_requests(void **state)
{
    struct cut_request taken;
    int reply_fd;

    (void)state;
    assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
    assert_int_equal(cut_request_take(ends[1], &taken, &reply_fd), 0);
    close(ends[1]);
    assert_int_equal(cut_request_begin(ends[0], &wanted), -1);
    ends[1] = -1;
}

static void what_is_no_request_is_refused(void **state)
{
    struct cut_request taken;
    int reply_fd;

    (void)state;
    assert_int_equal(send(ends[0], "x", 1, 0), 1);
    assert_true(cut_request_take(ends[1], &taken, &reply_fd) < 0);
    assert_int_equal(send(ends[0], &wanted, sizeof wanted, 0), sizeof wanted); /* without an end */
    assert_true(cut_request_take(ends[1], &taken, &reply_fd) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_order_is_received_and_replied_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_to_an_unread_order_is_received, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_from_before_the_order_is_received, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_requester_sees_a_missing_reply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_hangs_up_is_not_received, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_says_nothing_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_the_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_see_the_end_of_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_request_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
