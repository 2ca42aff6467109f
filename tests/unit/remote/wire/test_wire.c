/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "remote/wire/wire.h"
#include "tests/lib/unit.h"

#include <string.h>

/* needs the headers above */

static struct wire_reader reader;

static void give(const void *bytes, size_t n_bytes)
{
    size_t n_room;
    void *room = wire_reader_room(&reader, &n_room);

    assert_true(n_room >= n_bytes);
    memcpy(room, bytes, n_bytes);
    wire_reader_add(&reader, n_bytes);
}

/* Messages come out whole and in order, wherever their bytes were parted. */
TEST(test_parted)
{
    const struct wire_head sent = {.kind = WIRE_DATA, .log = 7, .offset = 99, .n_bytes = 5};
    uint8_t bytes[2 * (sizeof(sent) + 5)];
    struct wire_head head;
    const void *payload;

    for (size_t i = 0; i < 2; i++) {
        memcpy(bytes + i * (sizeof(sent) + 5), &sent, sizeof(sent));
        memcpy(bytes + i * (sizeof(sent) + 5) + sizeof(sent), i ? "fghij" : "abcde", 5);
    }
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        int n_messages = 0;
        wire_reader_init(&reader);
        for (int part = 0; part < 2; part++) {
            give(part ? bytes + cut : bytes, part ? sizeof(bytes) - cut : cut);
            while (wire_reader_next(&reader, &head, &payload, NULL) == 1) {
                assert_memory_equal(&head, &sent, sizeof(head));
                assert_memory_equal(payload, n_messages++ ? "fghij" : "abcde", 5);
            }
        }
        assert_int_equal(n_messages, 2);
    }
}

static void refuse(uint32_t kind, uint32_t n_bytes)
{
    const struct wire_head sent = {.kind = kind, .n_bytes = n_bytes};
    struct wire_head head;
    const void *payload;

    wire_reader_init(&reader);
    give(&sent, sizeof(sent));
    assert_int_equal(wire_reader_next(&reader, &head, &payload, NULL), ERROR_FORMAT);
}

/* WI-1: by its head alone. */
TEST(test_refused)
{
    refuse(0, 0);
    refuse(WIRE_KINDS, 0);
    refuse(UINT32_MAX, 0);
    refuse(WIRE_DATA, 0);
    refuse(WIRE_DATA, WIRE_MAX_BYTES + 1);
    refuse(WIRE_DATA, UINT32_MAX);
    refuse(WIRE_BEGIN, 4095);
    refuse(WIRE_BEGIN, 4096 + WIRE_NAME_BYTES + 1);
    refuse(WIRE_HEADER, 4097);
    refuse(WIRE_END, 1);
}

TEST(test_hello)
{
    struct wire_hello hello;
    struct wire_head head = {.kind = WIRE_HELLO, .n_bytes = sizeof(hello)};

    wire_make_hello(&hello);
    assert_int_equal(wire_check_hello(&head, &hello, NULL), 0);
    hello.version++;
    assert_int_equal(wire_check_hello(&head, &hello, NULL), ERROR_VERSION);
    hello.version--;
    hello.magic[0] = 'x';
    assert_int_equal(wire_check_hello(&head, &hello, NULL), ERROR_FORMAT);
    head.kind = WIRE_PING;
    assert_int_equal(wire_check_hello(&head, NULL, NULL), ERROR_FORMAT);
}
