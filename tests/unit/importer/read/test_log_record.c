/* SPDX-License-Identifier: MIT */
/* Decoding of each kind of record. */
#include "importer/model/definitions.h"
#include "importer/read/log_record.h"
#include "lib/abi/log_format.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

enum {
    NODE = 9, /* its backtrace is 100 */
    BACKTRACE = 100,
    BASE = 1000,
    TIME = 5, /* of the records of these tests */
    THREAD = 3,
};

#define WORD_0(kind) ((kind) | TIME << 8 | (uint64_t)NODE << 32)

static struct text_arena arena;
static struct log_names names;

static void define(uint8_t kind, uint32_t id, const char *text)
{
    static _Alignas(8) char payload[LOG_DEF_ALIGN * 2];
    struct log_def *def = (struct log_def *)(void *)payload;
    uint64_t n_unknown = 0;

    memset(payload, 0, sizeof(payload));
    def->kind = kind;
    def->id = id;
    def->text_bytes = (uint16_t)strlen(text);
    def->magic = LOG_DEF_MAGIC;
    memcpy(def + 1, text, strlen(text));
    assert_int_equal(log_names_add_defs(&names, payload, sizeof(payload), &n_unknown), 0);
}

static int setup(void **state)
{
    static const struct log_node node = {.parent = LOG_NODE_COMPLETE, .address = 1};

    (void)state;
    log_names_init(&names, &arena);
    assert_int_equal(log_names_add_nodes(&names, &node, sizeof(node), NODE), 0);
    names.backtrace_pages[0][NODE] = BACKTRACE;
    names.process = 2;
    names.unknown_thread = 77;
    define(LOG_DEF_PATH, 6, "/tmp/mapped");
    define(LOG_DEF_MARKER, 6, "now");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_names_done(&names);
    text_arena_done(&arena);
    return 0;
}

/* Decodes words that are one event. */
static struct event decode_half(const uint64_t *words, size_t n, enum log_record_half half)
{
    struct log_record_reader reader = {
        .at = words, .end = words + n, .base_ticks = BASE, .thread = THREAD};
    struct log_record record;
    struct event event;
    uint64_t n_lost = 0;

    memset(&event, 0xee, sizeof(event));
    assert_int_equal(log_record_next(&reader, &record), LOG_RECORD_FOUND);
    assert_ptr_equal(reader.at, words + n);
    assert_int_equal(record.ticks, BASE + TIME);
    assert_int_equal(record.thread, THREAD);
    log_record_decode(&record, half, &names, 40, &n_lost, &event);
    assert_int_equal(event.process, 2);
    assert_int_equal(n_lost, 0);
    assert_int_equal(log_record_next(&reader, &record), LOG_RECORD_NO_MORE);
    assert_int_equal(reader.n_unknown, 0);
    return event;
}

#define DECODE(...)                              \
    decode_half((const uint64_t[]){__VA_ARGS__}, \
                sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), LOG_RECORD_WHOLE)

TESTS_WITH(setup, teardown);

TEST(test_address_space)
{
    struct event event = DECODE(WORD_0(LOG_MMAP), 0x10000, 8192, 3 | 0x80000022ull << 16,
                                0xffffffff | 6ull << 32, 4096);

    assert_int_equal(event.kind, EVENT_MMAP);
    assert_int_equal(event.size, 8192);
    assert_int_equal(event.prot, 3);
    assert_int_equal((uint32_t)event.flags, 0x80000022);
    assert_int_equal(event.fd, -1);
    assert_int_equal(event.file_offset, 4096);
    assert_string_equal(event.text, "/tmp/mapped");

    event = DECODE(WORD_0(LOG_MMAP), 0x10000, 8192, 0, 3, 0);
    assert_null(event.text);
    assert_int_equal(event.fd, 3);

    event = DECODE(WORD_0(LOG_MUNMAP), 0x10000, 4096);
    assert_int_equal(event.kind, EVENT_MUNMAP);
    assert_int_equal(event.size, 4096);

    event = DECODE(WORD_0(LOG_MREMAP), 0x20000, 0x10000, 4096, 12288);
    assert_int_equal(event.kind, EVENT_MREMAP);
    assert_int_equal(event.address, 0x20000);
    assert_int_equal(event.old_address, 0x10000);
    assert_int_equal(event.old_size, 4096);
    assert_int_equal(event.size, 12288);

    event = DECODE(WORD_0(LOG_BRK), 0x30000, 0x20000);
    assert_int_equal(event.kind, EVENT_BRK);
    assert_int_equal(event.address, 0x30000);
    assert_int_equal(event.old_address, 0x20000);

    event = DECODE(WORD_0(LOG_HEAP_EXTENT), 0x30000, 0x40000, LOG_HEAP_ARENA);
    assert_int_equal(event.kind, EVENT_HEAP_EXTENT);
    assert_int_equal(event.old_address, 0x40000);
    assert_int_equal(event.value, LOG_HEAP_ARENA);

    event = DECODE(WORD_0(LOG_MALLOPT), 0, (uint64_t)-3, 65536, 1 | 1ull << 32);
    assert_int_equal(event.kind, EVENT_MALLOPT);
    assert_int_equal(event.parameter, -3);
    assert_int_equal(event.value, 65536);
    assert_int_equal(event.result, 1);
    assert_int_equal(event.call, 1);
}

/* realloc(NULL, n) and realloc(p, 0), which a log may contain. */
TEST(test_reallocs_of_one_block)
{
    const uint64_t allocated[] = {WORD_0(LOG_REALLOC), 0x5000, 100, 0};
    const uint64_t dead[] = {WORD_0(LOG_REALLOC), 0, 0, 0x4000};
    struct log_record record = {.words = allocated};

    assert_false(log_record_is_pair(&record));
    assert_int_equal(decode_half(allocated, 4, LOG_RECORD_WHOLE).kind, EVENT_ALLOC);
    record.words = dead;
    assert_false(log_record_is_pair(&record));
    assert_true(log_record_ends_block(&record, LOG_RECORD_WHOLE));
    assert_int_equal(decode_half(dead, 4, LOG_RECORD_WHOLE).kind, EVENT_FREE);
    assert_int_equal(decode_half(dead, 4, LOG_RECORD_WHOLE).address, 0x4000);
}

TEST(test_side_groups)
{
    const uint64_t none[] = {LOG_FREE, 0x1000};
    const uint64_t code = log_group_code(0xfedcba98);
    const uint64_t large[] = {LOG_FREE | (code & 0xffffff) << 8, 0x1000 | code >> 24 << 48};

    assert_int_equal(log_record_fallback_group(none), LOG_GROUP_ROOT);
    assert_int_equal(log_record_fallback_group(large), 0xfedcba98);
}

/* State records and unknown kinds of every length are passed over. */
TEST(test_what_is_no_event)
{
    const uint64_t words[] = {
        LOG_THREAD | 8ull << 32,
        0,                    /* */
        LOG_EVENT_KIND(0, 9), /* one word */
        LOG_EVENT_KIND(3, 30),
        1,
        2,
        3, /* four words */
        LOG_TIME_BASE,
        5000, /* */
        LOG_EVENT_KIND(6, 1),
        1,
        2,
        3,
        4,
        5,
        6,
        7, /* eight words */
        LOG_EVENT_KIND(7, 9),
        1,
        4,
        3, /* says itself: four */
        LOG_FREE | 1 << 8,
        0x1000 | 2ull << 48,
    };
    struct log_record_reader reader = {.at = words, .end = words + sizeof(words) / sizeof(*words)};
    struct log_record record;

    assert_int_equal(log_record_next(&reader, &record), LOG_RECORD_FOUND);
    assert_int_equal(record.thread, 8);
    assert_int_equal(record.ticks, 5000 + 1 + (2 << 24));
    assert_int_equal(reader.n_unknown, 4);
    assert_int_equal(log_record_next(&reader, &record), LOG_RECORD_NO_MORE);
}

TEST(test_lengths_beyond_the_payload)
{
    enum {
        LONG_KIND = LOG_EVENT_KIND(7, 9)
    };

    static const uint64_t inputs[][3] = {
        {LOG_ALLOC, 0x1000, 1}, {LOG_REALLOC_WIDE, 1, 2}, {LONG_KIND, 0, 513},
        {LONG_KIND, 0, 2},      {LONG_KIND, 0, 4},        {LONG_KIND, 0, 0},
    };

    for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++) {
        for (size_t n = i == 0 ? 2 : 3; n > 0; n--) {
            /* Exactly n words on the heap, so that a sanitizer sees one read too many. */
            uint64_t *words = malloc(n * sizeof(*words));
            struct log_record_reader reader = {.at = words, .end = words + n};
            struct log_record record;
            assert_non_null(words);
            memcpy(words, inputs[i], n * sizeof(*words));
            assert_int_equal(log_record_next(&reader, &record), LOG_RECORD_DAMAGED);
            assert_ptr_equal(reader.at, words);
            free(words);
        }
    }
}

/* RC-3 */
TEST(test_what_cannot_have_happened)
{
    const uint64_t big = EVENT_MAX_BYTES + 1;

    const struct {
        uint64_t words[8];
        bool is_possible;
    } cases[] = {
        {{LOG_ALLOC, 0, 16}, false},
        {{LOG_ALLOC, 1, 16}, true},
        {{LOG_ALLOC_WIDE, 0, 0, 16, 16}, false},
        {{LOG_ALLOC_WIDE, 1, 0, EVENT_MAX_BYTES, EVENT_MAX_BYTES}, true},
        {{LOG_ALLOC_WIDE, 1, 0, big, 0}, false},
        {{LOG_ALLOC_WIDE, 1, 0, 0, big}, true},
        {{LOG_ALLOC_WIDE, 1, 47 << 8, 16, 16}, true},
        {{LOG_ALLOC_WIDE, 1, 48 << 8, 16, 16}, false},
        {{LOG_ALLOC_WIDE, 1, 255 << 8, 16, 16}, false},
        {{LOG_REALLOC_WIDE, 1, 0, 2, 16, 16}, true},
        {{LOG_REALLOC_WIDE, 1, 0, 2, big, 16}, false},
        {{LOG_REALLOC_WIDE, 1, 0, 2, 16, UINT64_MAX}, true},
        {{LOG_REALLOC, 0, 0, 2}, true}, /* a free */
        {{LOG_MMAP, 0, EVENT_MAX_BYTES}, true},
        {{LOG_MMAP, 0, UINT64_MAX}, false},
        {{LOG_MUNMAP, 0, big}, false},
        {{LOG_MREMAP, 4096, 8192, 1, 1}, true},
        {{LOG_MREMAP, 0, UINT64_MAX & ~UINT64_C(4095), 1, 1}, false},
        {{LOG_MREMAP, 0, 4096, big, 1}, false},
        {{LOG_MREMAP, 0, 4096, 1, big}, false},
        {{LOG_MREMAP, 0, 1, 1, 1}, false},
        {{LOG_MREMAP, 1, 0, 1, 1}, false},
        {{LOG_MMAP, 4095, 1}, false},
        {{LOG_BRK, 0x1000, 0x2000}, true},
        {{LOG_BRK, 0x1000, 1ull << 48}, false},
        {{LOG_HEAP_EXTENT, 0x1000, UINT64_MAX, 1}, false},
        {{LOG_RESIDENT, 0x1000, 0x4000, 0x3000 | LOG_RESIDENT_CONTINUES}, true},
        {{LOG_RESIDENT, 0x1000, 0x4000, 0x5000}, false},
        {{LOG_RESIDENT, 0x1000, 0x4000, LOG_RESIDENT_UNKNOWN}, true},
        {{LOG_RESIDENT, 0x1008, 0x4000, 0}, false},
        {{LOG_MUNMAP, 1, 1}, false},
        {{LOG_ELIDED, 1ull << 32, UINT64_MAX, 16, INT64_MAX}, true},
        {{LOG_ELIDED, 0, 0, 16, 5}, false}, /* no blocks */
        {{LOG_ELIDED, 1ull << 32, 0, EVENT_MAX_SUM + 1, 5}, false},
        {{LOG_ELIDED, 1ull << 32, 0, 16, UINT64_MAX}, false},
        {{LOG_FAILURE, 0, 0, UINT64_MAX}, true}, /* asked for, not given */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct log_record_reader reader = {.at = cases[i].words, .end = cases[i].words + 8};
        struct log_record record;
        bool is_found =
            log_record_next(&reader, &record) == LOG_RECORD_FOUND && record.words == cases[i].words;
        assert_int_equal(is_found, cases[i].is_possible);
        if (is_found)
            assert_true(log_record_claimed_bytes(&record) <= EVENT_MAX_SUM + 1);
        else
            assert_true(reader.n_impossible > 0);
    }
}
