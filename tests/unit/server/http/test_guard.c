/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "server/http/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static const struct guard loopback = {.token = ""};
static const struct guard elsewhere = {.token = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

static void check(const struct guard *guard, struct guard_claims claims, enum guard_verdict verdict)
{
    assert_int_equal(guard_check(guard, &claims), verdict);
}

static void loopback_hosts_are_admitted(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "127.0.0.1:8080", "localhost:8080", "[::1]:80",
                                        "localhost"};
    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        check(&loopback, (struct guard_claims){.host = hosts[i]}, GUARD_ADMITTED);
}

/* What DNS rebinding looks like from here. */
static void other_hosts_are_refused_on_loopback(void **state)
{
    static const char *const hosts[] = {
        "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "",
        "[::1].evil"};
    (void)state;
    check(&loopback, (struct guard_claims){.host = NULL}, GUARD_WRONG_HOST);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        check(&loopback, (struct guard_claims){.host = hosts[i]}, GUARD_WRONG_HOST);
}

static void pages_of_other_sites_are_refused(void **state)
{
    const char *host = "127.0.0.1:8080";

    (void)state;
    check(&loopback, (struct guard_claims){.host = host, .origin = "http://127.0.0.1:8080"},
          GUARD_ADMITTED);
    check(&loopback, (struct guard_claims){.host = host, .origin = "http://evil.example"},
          GUARD_OTHER_SITE);
    check(&loopback, (struct guard_claims){.host = host, .origin = "http://127.0.0.1:9999"},
          GUARD_OTHER_SITE);
    check(&loopback, (struct guard_claims){.host = host, .origin = "null"}, GUARD_OTHER_SITE);
    check(&loopback, (struct guard_claims){.host = host, .fetch_site = "cross-site"},
          GUARD_OTHER_SITE);
    check(&loopback, (struct guard_claims){.host = host, .fetch_site = "same-site"},
          GUARD_OTHER_SITE);
    check(&loopback, (struct guard_claims){.host = host, .fetch_site = "same-origin"},
          GUARD_ADMITTED);
    check(&loopback, (struct guard_claims){.host = host, .fetch_site = "none"}, GUARD_ADMITTED);
}

static void elsewhere_a_token_is_needed(void **state)
{
    char longer[GUARD_TOKEN_BYTES + 1];
    char bearer[GUARD_TOKEN_BYTES + 16];

    (void)state;
    (void)snprintf(longer, sizeof(longer), "%sa", elsewhere.token);
    (void)snprintf(bearer, sizeof(bearer), "Bearer %s", elsewhere.token);
    check(&elsewhere, (struct guard_claims){.host = "127.0.0.1"}, GUARD_NEEDS_TOKEN);
    check(&elsewhere, (struct guard_claims){.cookie = ""}, GUARD_NEEDS_TOKEN);
    check(&elsewhere, (struct guard_claims){.cookie = "aaaa"}, GUARD_NEEDS_TOKEN);
    check(&elsewhere, (struct guard_claims){.cookie = longer}, GUARD_NEEDS_TOKEN);
    check(&elsewhere, (struct guard_claims){.authorization = elsewhere.token}, GUARD_NEEDS_TOKEN);
    check(&elsewhere, (struct guard_claims){.cookie = elsewhere.token}, GUARD_ADMITTED);
    check(&elsewhere, (struct guard_claims){.authorization = bearer}, GUARD_ADMITTED);
    memcpy(bearer, "bEARER", 6); /* a scheme has no case */
    check(&elsewhere, (struct guard_claims){.authorization = bearer}, GUARD_ADMITTED);
    check(&elsewhere, (struct guard_claims){.token = elsewhere.token}, GUARD_GIVE_COOKIE);
    check(&elsewhere, (struct guard_claims){.cookie = elsewhere.token, .fetch_site = "cross-site"},
          GUARD_OTHER_SITE);
}

static void tokens_are_whole_and_differ(void **state)
{
    struct guard a;
    struct guard b;
    struct error err;

    (void)state;
    assert_int_equal(guard_make_token(&a, &err), 0);
    assert_int_equal(guard_make_token(&b, &err), 0);
    assert_int_equal(strlen(a.token), GUARD_TOKEN_BYTES - 1);
    assert_int_equal(
        strspn(a.token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        GUARD_TOKEN_BYTES - 1);
    assert_string_not_equal(a.token, b.token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_hosts_are_admitted),
        cmocka_unit_test(other_hosts_are_refused_on_loopback),
        cmocka_unit_test(pages_of_other_sites_are_refused),
        cmocka_unit_test(elsewhere_a_token_is_needed),
        cmocka_unit_test(tokens_are_whole_and_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
