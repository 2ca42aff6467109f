/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "server/http/auth.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

static const struct auth loopback = {.token = ""};
static const struct auth elsewhere = {.token = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

static void check(const struct auth *guard, struct auth_claims claims, enum auth_verdict verdict)
{
    assert_int_equal(auth_check(guard, &claims), verdict);
}

TEST(loopback_hosts_are_admitted)
{
    static const char *const hosts[] = {"127.0.0.1", "127.0.0.1:8080", "localhost:8080", "[::1]:80",
                                        "localhost"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        check(&loopback, (struct auth_claims){.host = hosts[i]}, AUTH_ADMITTED);
}

/* A request after DNS rebinding. */
TEST(other_hosts_are_refused_on_loopback)
{
    static const char *const hosts[] = {
        "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "",
        "[::1].evil"};
    check(&loopback, (struct auth_claims){.host = NULL}, AUTH_WRONG_HOST);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        check(&loopback, (struct auth_claims){.host = hosts[i]}, AUTH_WRONG_HOST);
}

TEST(pages_of_other_sites_are_refused)
{
    const char *host = "127.0.0.1:8080";

    check(&loopback, (struct auth_claims){.host = host, .origin = "http://127.0.0.1:8080"},
          AUTH_ADMITTED);
    check(&loopback, (struct auth_claims){.host = host, .origin = "http://evil.example"},
          AUTH_OTHER_SITE);
    check(&loopback, (struct auth_claims){.host = host, .origin = "http://127.0.0.1:9999"},
          AUTH_OTHER_SITE);
    check(&loopback, (struct auth_claims){.host = host, .origin = "null"}, AUTH_OTHER_SITE);
    check(&loopback, (struct auth_claims){.host = host, .fetch_site = "cross-site"},
          AUTH_OTHER_SITE);
    check(&loopback, (struct auth_claims){.host = host, .fetch_site = "same-site"},
          AUTH_OTHER_SITE);
    check(&loopback, (struct auth_claims){.host = host, .fetch_site = "same-origin"},
          AUTH_ADMITTED);
    check(&loopback, (struct auth_claims){.host = host, .fetch_site = "none"}, AUTH_ADMITTED);
}

TEST(elsewhere_a_token_is_needed)
{
    char longer[AUTH_TOKEN_BYTES + 1];
    char bearer[AUTH_TOKEN_BYTES + 16];

    (void)snprintf(longer, sizeof(longer), "%sa", elsewhere.token);
    (void)snprintf(bearer, sizeof(bearer), "Bearer %s", elsewhere.token);
    check(&elsewhere, (struct auth_claims){.host = "127.0.0.1"}, AUTH_NEEDS_TOKEN);
    check(&elsewhere, (struct auth_claims){.cookie = ""}, AUTH_NEEDS_TOKEN);
    check(&elsewhere, (struct auth_claims){.cookie = "aaaa"}, AUTH_NEEDS_TOKEN);
    check(&elsewhere, (struct auth_claims){.cookie = longer}, AUTH_NEEDS_TOKEN);
    check(&elsewhere, (struct auth_claims){.authorization = elsewhere.token}, AUTH_NEEDS_TOKEN);
    check(&elsewhere, (struct auth_claims){.cookie = elsewhere.token}, AUTH_ADMITTED);
    check(&elsewhere, (struct auth_claims){.authorization = bearer}, AUTH_ADMITTED);
    memcpy(bearer, "bEARER", 6); /* a scheme has no case */
    check(&elsewhere, (struct auth_claims){.authorization = bearer}, AUTH_ADMITTED);
    check(&elsewhere, (struct auth_claims){.token = elsewhere.token}, AUTH_GIVE_COOKIE);
    check(&elsewhere, (struct auth_claims){.cookie = elsewhere.token, .fetch_site = "cross-site"},
          AUTH_OTHER_SITE);
}

TEST(tokens_are_whole_and_differ)
{
    struct auth a;
    struct auth b;
    struct error err;

    assert_int_equal(auth_make_token(&a, &err), 0);
    assert_int_equal(auth_make_token(&b, &err), 0);
    assert_int_equal(strlen(a.token), AUTH_TOKEN_BYTES - 1);
    assert_int_equal(
        strspn(a.token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        AUTH_TOKEN_BYTES - 1);
    assert_string_not_equal(a.token, b.token);
}
