/* SPDX-License-Identifier: MIT */
#include "remote/wire/discovery_message.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

/* needs the headers above */

static const uint64_t now_ns = UINT64_C(1700000000000000000);

struct side {
    struct security_key keys[2];
    struct security security;
};

static void make_fallback(struct side *side, const char *name, uint8_t secret)
{
    *side = (struct side){.security.n_keys = 1};
    side->security.keys = side->keys;
    (void)snprintf(side->keys[0].name, sizeof(side->keys[0].name), "%s", name);
    side->keys[0].n_bytes = 32;
    memset(side->keys[0].bytes, secret, 32);
}

static struct discovery_message_memory *new_memory(void)
{
    struct discovery_message_memory *memory = calloc(1, sizeof(*memory));

    assert_non_null(memory);
    return memory;
}

static bool is_answered(const struct side *side, struct discovery_message_memory *memory,
                        const struct discovery_message *request,
                        struct discovery_message *ret_answer)
{
    return discovery_message_answer(&side->security, memory, request, sizeof(*request), now_ns, 77,
                                    7878, ret_answer);
}

TEST(test_found)
{
    struct discovery_message_memory *memory = new_memory();
    struct discovery_message request;
    struct discovery_message answer;
    struct discovery_message received;
    struct side gather;
    struct side sender;

    make_fallback(&gather, "other", 1);
    make_fallback(&sender, "me", 2);
    gather.keys[1] = sender.keys[0];
    gather.security.n_keys = 2;
    assert_true(discovery_message_request(&sender.security, now_ns, &request));
    assert_true(is_answered(&gather, memory, &request, &answer));
    assert_true(discovery_message_is_answer(&sender.security, &request, &answer, sizeof(answer),
                                            &received));
    assert_int_equal(received.port, 7878);
    assert_int_equal(received.receiver, 77);
    free(memory);
}

/* If any of their bytes is changed, they are neither answered nor believed. */
TEST(test_forged)
{
    struct discovery_message_memory *memory = new_memory();
    struct discovery_message request;
    struct discovery_message answer;
    struct discovery_message received;
    struct side gather;
    struct side stranger;

    make_fallback(&gather, "me", 1);
    make_fallback(&stranger, "me", 2);
    assert_true(discovery_message_request(&gather.security, now_ns, &request));
    for (size_t i = 0; i < sizeof(request); i++) {
        ((uint8_t *)&request)[i] ^= 1;
        assert_false(is_answered(&gather, memory, &request, &answer));
        ((uint8_t *)&request)[i] ^= 1;
    }
    assert_false(is_answered(&stranger, memory, &request, &answer));
    assert_true(is_answered(&gather, memory, &request, &answer));
    for (size_t i = 0; i < sizeof(answer); i++) {
        ((uint8_t *)&answer)[i] ^= 1;
        assert_false(discovery_message_is_answer(&gather.security, &request, &answer,
                                                 sizeof(answer), &received));
        ((uint8_t *)&answer)[i] ^= 1;
    }
    for (size_t n = 0; n < sizeof(answer); n++)
        assert_false(
            discovery_message_is_answer(&gather.security, &request, &answer, n, &received));
    assert_false(discovery_message_is_answer(&gather.security, &request, &request, sizeof(request),
                                             &received));
    assert_false(discovery_message_is_answer(&stranger.security, &request, &answer, sizeof(answer),
                                             &received));
    free(memory);
}

TEST(test_replayed)
{
    struct discovery_message_memory *memory = new_memory();
    struct discovery_message request;
    struct discovery_message other;
    struct discovery_message answer;
    struct discovery_message received;
    struct side side;

    make_fallback(&side, "me", 1);
    assert_true(discovery_message_request(&side.security, now_ns, &request));
    assert_true(is_answered(&side, memory, &request, &answer));
    assert_false(is_answered(&side, memory, &request, &received));
    assert_true(discovery_message_request(&side.security, now_ns, &other));
    assert_false(
        discovery_message_is_answer(&side.security, &other, &answer, sizeof(answer), &received));
    for (int is_late = 0; is_late < 2; is_late++) {
        uint64_t when =
            is_late ? now_ns - DISCOVERY_MESSAGE_AGE_NS - 1 : now_ns + DISCOVERY_MESSAGE_AGE_NS + 1;
        assert_true(discovery_message_request(&side.security, when, &other));
        assert_false(is_answered(&side, memory, &other, &answer));
    }
    free(memory);
}

/* AN-3: a message that would not be remembered is not answered; once the others are old there is
 * space. */
TEST(test_many)
{
    struct discovery_message_memory *memory = new_memory();
    struct discovery_message request;
    struct discovery_message answer;
    struct side side;

    make_fallback(&side, "me", 1);
    for (int i = 0; i <= DISCOVERY_MESSAGE_SEEN; i++) {
        assert_true(discovery_message_request(&side.security, now_ns, &request));
        assert_int_equal(is_answered(&side, memory, &request, &answer), i < DISCOVERY_MESSAGE_SEEN);
    }
    uint64_t later_ns = now_ns + DISCOVERY_MESSAGE_AGE_NS + 1;
    assert_true(discovery_message_request(&side.security, later_ns, &request));
    assert_true(discovery_message_answer(&side.security, memory, &request, sizeof(request),
                                         later_ns, 77, 7878, &answer));
    free(memory);
}
