/* SPDX-License-Identifier: MIT */
/* Segments go into frames and come back, whatever is in them; damaged frames are refused. */
#include "lib/logfile/pack.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <xxhash.h>

enum {
    WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    MAX_LIVE = 200,
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
    uint64_t live[MAX_LIVE];
    size_t n_live;
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

static uint64_t size_word(uint64_t size, uint64_t slack, uint64_t flags)
{
    return size | slack << LOG_SIZE_BITS | flags << (LOG_SIZE_BITS + LOG_SLACK_BITS);
}

static uint64_t some_address(struct fixture *fixture)
{
    return 0x5555555592a0 + draw(fixture, 3000) * 16 + (draw(fixture, 100) == 0);
}

static uint64_t take_live(struct fixture *fixture)
{
    size_t i = fixture->n_live - 1 - draw(fixture, fixture->n_live < 4 ? fixture->n_live : 4);
    uint64_t address = fixture->live[i];

    fixture->live[i] = fixture->live[--fixture->n_live];
    return address;
}

static void add_allocation(struct fixture *fixture)
{
    uint32_t node = (uint32_t)(LOG_NODE_FIRST + draw(fixture, 30));
    uint64_t size =
        draw(fixture, 20) ? (uint64_t)node * 8 : draw(fixture, 1ull << 30) << draw(fixture, 10);
    uint64_t slack = draw(fixture, 10) ? (size + 23) / 16 * 16 - 8 - size : draw(fixture, 65536);
    uint64_t address = some_address(fixture);

    if (draw(fixture, 9) == 0 && fixture->n_live) {
        uint64_t old = take_live(fixture);
        uint64_t *words = add(fixture, LOG_REALLOC, 4, node, draw(fixture, 2) ? old : address);
        words[2] = size_word(size, slack & 0xffff, LOG_CALL_REALLOC | LOG_CHUNK_KNOWN);
        words[3] = old | draw(fixture, 65536) << LOG_ADDRESS_BITS;
        address = words[1] & ((1ull << LOG_ADDRESS_BITS) - 1);
    } else {
        uint64_t *words = add(fixture, LOG_ALLOC, 3, node, address);
        words[2] = size_word(size, slack & 0xffff, draw(fixture, 30) ? LOG_CHUNK_KNOWN : 0xff);
    }
    if (fixture->n_live < MAX_LIVE)
        fixture->live[fixture->n_live++] = address;
}

static void add_rare(struct fixture *fixture)
{
    static const uint8_t kinds[] = {LOG_THREAD,
                                    LOG_TRACING,
                                    LOG_MMAP,
                                    LOG_MUNMAP,
                                    LOG_ALLOC_WIDE,
                                    LOG_REALLOC_WIDE,
                                    LOG_MALLOPT,
                                    LOG_FAILURE,
                                    LOG_HEAP_EXTENT,
                                    LOG_EVENT_KIND(0, 9),
                                    LOG_EVENT_KIND(6, 30),
                                    LOG_ELIDED,
                                    LOG_EVENT_KIND(7, 1),
                                    LOG_GROUP,
                                    LOG_MOVE,
                                    LOG_PHASE,
                                    LOG_POOL_ALLOC,
                                    LOG_POOL_RESIZE,
                                    LOG_POOL_END,
                                    LOG_NEXT_OWNER};
    unsigned kind = kinds[draw(fixture, sizeof(kinds))];
    size_t n = log_event_words(kind) ? log_event_words(kind) : 3 + draw(fixture, 40);
    uint64_t *words =
        add(fixture, kind, n, (uint32_t)draw(fixture, 1 << 20), some_address(fixture));

    for (size_t i = 2; i < n; i++)
        words[i] = draw(fixture, 1ull << 31) << draw(fixture, 33);
    if (log_event_words(kind) == 0)
        words[2] = words[2] << 16 | n;
}

static void add_time_base(struct fixture *fixture)
{
    uint64_t *words = add(fixture, LOG_TIME_BASE, 2, 0, 0);

    words[0] = LOG_TIME_BASE;
    words[1] = fixture->base = fixture->ticks;
}

/* Fills a segment with events like those of a program. */
static void generate(struct fixture *fixture, uint64_t seed)
{
    fixture->random = seed;
    fixture->n_words = fixture->n_live = 0;
    fixture->ticks = fixture->base = fixture->segment.base_ticks = 123456789012345 + seed;
    while (fixture->n_words + 48 < WORDS) {
        uint64_t what = draw(fixture, 100);

        fixture->ticks += draw(fixture, 50) ? draw(fixture, 400) : draw(fixture, 1ull << 31);
        if (what < 48)
            add_allocation(fixture);
        else if (what < 90 && fixture->n_live)
            add(fixture, LOG_FREE, 2, (uint32_t)(100 + draw(fixture, 10)), take_live(fixture));
        else if (what < 97)
            add(fixture, LOG_FREE, 2, (uint32_t)(100 + draw(fixture, 10)), some_address(fixture));
        else if (what < 99)
            add_rare(fixture);
        else
            add_time_base(fixture);
    }
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

/* Rounds the times of the generated events down, as PK-1 says. */
static void round_words(struct fixture *fixture, unsigned shift)
{
    uint64_t base = fixture->segment.base_ticks;
    uint64_t rounded_base = base >> shift << shift;
    size_t n;

    for (size_t i = 0; i < fixture->n_words; i += n) {
        uint64_t *words = fixture->words + i;
        unsigned kind = words[0] & 255;
        uint64_t absolute = base + ((words[0] >> 8 & 0xffffff) | words[1] >> 48 << 24);
        uint64_t time = (absolute >> shift << shift) - rounded_base;

        n = log_event_words(kind) ? log_event_words(kind) : words[2] & 0xffff;
        if (kind == LOG_TIME_BASE) {
            base = words[1];
            words[1] = rounded_base = base >> shift << shift;
        } else if (n > 1) {
            words[0] = (words[0] & ~0xffffff00ull) | (time & 0xffffff) << 8;
            words[1] = (words[1] & 0xffffffffffff) | time >> 24 << 48;
        }
        if (kind == LOG_REALLOC) {
            uint64_t began = (absolute - (words[3] >> 48)) >> shift << shift;
            uint64_t duration = (absolute >> shift << shift) - began;
            words[3] = (words[3] & 0xffffffffffff) | (duration < 65535 ? duration : 65535) << 48;
        }
        if (kind == LOG_REALLOC_WIDE && words[2] >> 8 <= absolute) {
            uint64_t began = (absolute - (words[2] >> 8)) >> shift << shift;
            words[2] = (words[2] & 255) | ((absolute >> shift << shift) - began) << 8;
        }
    }
    fixture->segment.base_ticks = fixture->segment.base_ticks >> shift << shift;
}

static void check_round_trip(struct fixture *fixture, int level, unsigned shift, unsigned codec)
{
    struct log_frame frame;

    pack_it(fixture, level, shift);
    assert_int_equal(unpack_it(fixture, &frame), 0);
    round_words(fixture, shift);
    assert_int_equal(frame.codec, codec);
    assert_int_equal(frame.raw_bytes, fixture->n_words * 8);
    assert_int_equal(pack_frame_bytes(&frame), fixture->n_frame);
    assert_memory_equal(&frame.segment, &fixture->segment, sizeof(frame.segment));
    assert_memory_equal(fixture->back, fixture->words, fixture->n_words * 8);
}

TEST_WITH(times_are_rounded_and_keep_their_order, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        generate(fixture, seed);
        check_round_trip(fixture, 1, 1 + (unsigned)seed % 8, LOG_CODEC_COLUMNS);
    }
}

TEST_WITH(random_words_come_back, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        fixture->random = seed;
        fixture->n_words = draw(fixture, WORDS + 1);
        for (size_t i = 0; i < fixture->n_words; i++)
            fixture->words[i] = draw(fixture, 1ull << 31) << 33 ^ draw(fixture, 1ull << 31);
        fixture->segment.base_ticks = draw(fixture, 1ull << 31);
        pack_it(fixture, (int)draw(fixture, 4), 0);
        struct log_frame frame;
        assert_int_equal(unpack_it(fixture, &frame), 0);
        assert_memory_equal(fixture->back, fixture->words, fixture->n_words * 8);
    }
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

    generate(fixture, 5);
    pack_it(fixture, 1, 4);
    size_t n_meant = sizeof(frame) + ((struct log_frame *)(void *)fixture->frame)->payload_bytes;
    for (size_t i = 0; i < n_meant; i++) {
        fixture->frame[i] ^= (uint8_t)(1 << i % 8);
        assert_int_not_equal(unpack_it(fixture, &frame), 0);
        fixture->frame[i] ^= (uint8_t)(1 << i % 8);
    }
    assert_int_equal(unpack_it(fixture, &frame), 0);
}

TEST_WITH(events_are_small, set_up, tear_down)
{
    struct fixture *fixture = *state;

    /* one temporary block of the same stack, over and over */
    while (fixture->n_words + 5 <= WORDS) {
        fixture->ticks += 90 + draw(fixture, 64);
        add(fixture, LOG_ALLOC, 3, 20, 0x5555555592a0)[2] = size_word(24, 0, LOG_CHUNK_KNOWN);
        fixture->ticks += 60 + draw(fixture, 64);
        add(fixture, LOG_FREE, 2, 21, 0x5555555592a0);
    }
    check_round_trip(fixture, 1, 5, LOG_CODEC_COLUMNS);
    assert_true(fixture->n_frame < fixture->n_words / 5 * 2);
}
