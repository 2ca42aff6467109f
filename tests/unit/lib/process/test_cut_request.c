/* SPDX-License-Identifier: MIT */
/* A requester gets the reply that was sent, or sees that no reply will come. */
#include "lib/process/cut_request.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct cut_request wanted = {.until_ns = 2,
                                          .marker_ticks = 3,
                                          .run_id = 4,
                                          .until_marker = "a marker",
                                          .has_symbols = true,
                                          .target = "/a/target"};
static int ends[2]; /* of the requester, and of the importer */

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

/* The importer. Its exit status is 0 if it received the request as it was sent. */
static pid_t start_importer(bool replies)
{
    const struct cut_reply reply = {.code = -3, .has_no_room = true, .text = "why"};
    struct cut_request taken;
    int reply_fd;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    close(ends[0]);
    if (cut_request_take(ends[1], &taken, &reply_fd) != 1)
        _exit(1);
    if (replies)
        cut_request_reply(reply_fd, &reply);
    _exit(memcmp(&taken, &wanted, sizeof taken) != 0 || fcntl(reply_fd, F_GETFD) != FD_CLOEXEC);
}

static void assert_has_received(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

TEST_WITH(a_request_gets_its_reply, set_up, tear_down)
{
    pid_t pid = start_importer(true);
    struct cut_reply reply;

    assert_true(cut_request_send(ends[0], &wanted, &reply));
    assert_int_equal(reply.code, -3);
    assert_true(reply.has_no_room);
    assert_string_equal(reply.text, "why");
    assert_has_received(pid);
}

TEST_WITH(the_end_of_the_importer_ends_the_wait, set_up, tear_down)
{
    pid_t pid = start_importer(false);
    struct cut_reply reply;

    assert_false(cut_request_send(ends[0], &wanted, &reply));
    assert_has_received(pid);
}

TEST_WITH(a_reply_without_requester_is_lost, set_up, tear_down)
{
    const struct cut_reply reply = {.code = 0};
    int pair[2];

    assert_int_equal(cut_request_open(pair), 0);
    close(pair[0]);
    cut_request_reply(pair[1], &reply); /* and raises no signal */
    close(pair[1]);
}

TEST_WITH(both_see_the_end_of_requests, set_up, tear_down)
{
    struct cut_request taken;
    struct cut_reply reply;
    int reply_fd;

    assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
    assert_int_equal(cut_request_take(ends[1], &taken, &reply_fd), 0);
    close(ends[1]);
    assert_false(cut_request_send(ends[0], &wanted, &reply));
    ends[1] = -1;
}

TEST_WITH(what_is_no_request_is_refused, set_up, tear_down)
{
    struct cut_request taken;
    int reply_fd;

    assert_int_equal(send(ends[0], "x", 1, 0), 1);
    assert_true(cut_request_take(ends[1], &taken, &reply_fd) < 0);
    assert_int_equal(send(ends[0], &wanted, sizeof wanted, 0), sizeof wanted); /* without an end */
    assert_true(cut_request_take(ends[1], &taken, &reply_fd) < 0);
}
