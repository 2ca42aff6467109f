/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "remote/wire/address.h"
#include "tests/lib/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* needs the headers above */

static void check(const char *text, const char *host, const char *port)
{
    struct address address;

    assert_int_equal(address_parse(text, &address, NULL), 0);
    assert_string_equal(address.host, host);
    assert_string_equal(address.port, port);
}

TEST(test_forms)
{
    check("gather.example:7878", "gather.example", "7878");
    check("127.0.0.1:0", "127.0.0.1", "0");
    check("[::1]:65535", "::1", "65535");
}

TEST(test_refused)
{
    static const char *const texts[] = {"",       ":",       "host",       "host:",       ":1",
                                        "host:x", "host:1x", "host:65536", "host:123456", "[::1]",
                                        "[::1]1", "[]:1",    "::1:7878",   "[::1:7878"};
    struct address address;
    struct error err;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_int_equal(address_parse(texts[i], &address, &err), ERROR_USAGE);
        assert_non_null(strstr(err.text, "is not HOST:PORT"));
    }
}

static bool is_local4(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET};

    assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
    return address_is_local((const struct sockaddr *)&address);
}

static bool is_local6(const char *text)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};

    assert_int_equal(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
    return address_is_local((const struct sockaddr *)&address);
}

TEST(test_local)
{
    assert_true(is_local4("127.0.0.1"));
    assert_true(is_local4("127.9.9.9"));
    assert_false(is_local4("128.0.0.1"));
    assert_false(is_local4("0.0.0.0"));
    assert_true(is_local6("::1"));
    assert_true(is_local6("::ffff:127.0.0.1"));
    assert_false(is_local6("::"));
    assert_false(is_local6("::ffff:10.0.0.1"));
    assert_false(is_local6("7f00::1"));
}
