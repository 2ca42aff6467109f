/* SPDX-License-Identifier: MIT */
#include "recorder/session/control_message.h"
#include "tests/lib/unit.h"

#include <string.h>

/* In memory of its own, so that the sanitizer sees what is read behind it. */
static bool parse(const char *text, size_t n_bytes, struct control_request *ret)
{
    char *copy = malloc(n_bytes + 1);
    bool is_good;

    assert_non_null(copy);
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    is_good = control_message_parse(copy, n_bytes, ret);
    free(copy);
    return is_good;
}

TEST(requests_are_read)
{
    struct control_request request;

    assert_true(parse("12 start", 8, &request));
    assert_int_equal(request.pid, 12);
    assert_int_equal(request.verb, CONTROL_START);
    assert_string_equal(request.name, "");
    assert_true(parse("2147483647 snapshot a b", 23, &request));
    assert_int_equal(request.pid, INT32_MAX);
    assert_int_equal(request.verb, CONTROL_SNAPSHOT);
    assert_string_equal(request.name, "a b");
}

TEST(nothing_else_is)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "1",
                                      "1 ",
                                      "start",
                                      "0 start",
                                      "-1 start",
                                      "+1 start",
                                      " 1 start",
                                      "1  start",
                                      "1 started",
                                      "1 star",
                                      "1 start x",
                                      "1x start",
                                      "2147483648 start",
                                      "99999999999999999999 stop",
                                      "1 START",
                                      "1 snapshotsnapshotsnapshot"};
    char name[80] = "1 snapshot ";
    struct control_request request;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(parse(bad[i], strlen(bad[i]), &request));
    assert_false(parse("1 start\0", 8, &request));
    memset(name + 11, 'x', LOG_MAILBOX_NAME_BYTES - 1);
    assert_true(parse(name, strlen(name), &request));
    memset(name + 11, 'x', LOG_MAILBOX_NAME_BYTES);
    assert_false(parse(name, strlen(name), &request));
}
