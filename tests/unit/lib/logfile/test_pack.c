/* SPDX-License-Identifier: MIT */
/* Nodes come back from frames; damaged frames are refused. fuzz_pack tries any words. */
#include "lib/logfile/pack.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <xxhash.h>

enum {
    WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
};

static const uint64_t time_mask = (1ull << LOG_TIME_BITS) - 1;

struct fixture {
    struct pack *pack;
    struct log_segment segment;
    uint64_t words[WORDS];
    uint64_t back[WORDS];
    size_t n_words;
    uint8_t frame[PACK_SEGMENT_MAX_BYTES];
    size_t n_frame;
    uint64_t random;
    uint64_t ticks;
    uint64_t base;
};

static uint64_t draw(struct fixture *fixture, uint64_t n)
{
    fixture->random = fixture->random * 6364136223846793005u + 1442695040888963407u;
    return (fixture->random >> 33) % n;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->pack = pack_new();
    assert_non_null(fixture->pack);
    fixture->random = 1;
    fixture->ticks = fixture->base = 123456789012345;
    fixture->segment = (struct log_segment){.kind = LOG_SEGMENT_EVENTS,
                                            .sequence = 7,
                                            .thread = 3,
                                            .run_id = 42,
                                            .base_ticks = fixture->base};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pack_free(fixture->pack);
    free(fixture);
    return 0;
}

static uint64_t *add(struct fixture *fixture, unsigned kind, size_t n, uint32_t node,
                     uint64_t address)
{
    uint64_t *words = fixture->words + fixture->n_words;
    uint64_t time = (fixture->ticks - fixture->base) & time_mask;

    words[0] = kind | (time & 0xffffff) << 8 | (uint64_t)node << 32;
    if (n > 1)
        words[1] = address | time >> 24 << LOG_ADDRESS_BITS;
    fixture->n_words += n;
    return words;
}

static void pack_it(struct fixture *fixture, int level, unsigned time_shift)
{
    struct pack_settings settings = {.zstd_level = level, .time_shift = time_shift};

    fixture->n_frame = pack_segment(fixture->pack, &settings, &fixture->segment, fixture->words, 0,
                                    (uint32_t)(fixture->n_words * 8), fixture->frame);
    assert_true(fixture->n_frame <= PACK_SEGMENT_MAX_BYTES);
    assert_int_equal(fixture->n_frame % PACK_FRAME_ALIGN, 0);
}

static int unpack_it(struct fixture *fixture, struct log_frame *ret_frame)
{
    struct error err;
    int code;

    memcpy(ret_frame, fixture->frame, sizeof(*ret_frame));
    code = pack_check_header(ret_frame, 0, &err);
    if (code == 0)
        code = pack_unpack(fixture->pack, ret_frame, fixture->frame + sizeof(*ret_frame), 0,
                           fixture->back, &err);
    return code;
}

/* Nodes as of a program: mostly the child of the one before, at places seen before. */
TEST_WITH(nodes_are_small_and_come_back, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct pack_settings settings = {.zstd_level = 1};
    struct log_node *nodes = (struct log_node *)(void *)fixture->words;
    struct log_frame frame;

    fixture->segment.kind = LOG_SEGMENT_NODES;
    fixture->segment.first_node = 5000;
    for (uint32_t i = 0; i < LOG_NODES_PER_SEGMENT; i++) {
        nodes[i].parent = draw(fixture, 5) ? 4999 + i : 5000 + i - (uint32_t)draw(fixture, 300);
        uint32_t place = (uint32_t)draw(fixture, 60);
        nodes[i].module = place % 3;
        nodes[i].address = 0x400000 + place * 7777ull;
    }
    fixture->n_frame = pack_segment(fixture->pack, &settings, &fixture->segment, nodes, 0,
                                    LOG_SEGMENT_PAYLOAD_BYTES, fixture->frame);
    assert_int_equal(unpack_it(fixture, &frame), 0);
    assert_int_equal(frame.codec, LOG_CODEC_NODES);
    assert_memory_equal(fixture->back, nodes, LOG_SEGMENT_PAYLOAD_BYTES);
    assert_true(fixture->n_frame < (size_t)LOG_NODES_PER_SEGMENT * 3);
}

TEST_WITH(every_damage_is_seen, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct log_frame frame;

    for (uint32_t i = 0; i < 2000; i++) {
        fixture->ticks += draw(fixture, 400);
        add(fixture, LOG_FREE, 2, 100 + i % 10, 0x5555555592a0 + draw(fixture, 3000) * 16);
    }
    pack_it(fixture, 1, 4);
    size_t n_meant = sizeof(frame) + ((struct log_frame *)(void *)fixture->frame)->payload_bytes;
    for (size_t i = 0; i < n_meant; i++) {
        fixture->frame[i] ^= (uint8_t)(1 << i % 8);
        assert_int_not_equal(unpack_it(fixture, &frame), 0);
        fixture->frame[i] ^= (uint8_t)(1 << i % 8);
    }
    assert_int_equal(unpack_it(fixture, &frame), 0);
}
