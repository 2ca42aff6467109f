/* SPDX-License-Identifier: MIT */
/* Which blocks are elided, and that totals plus kept events equal the original events. */
#include "lib/totals/report_classes.h"
#include "recorder/pack/elide.h"
#include "recorder/pack/last_frees.h"
#include "tests/lib/unit.h"

#include <stdbool.h>
#include <string.h>

enum {
    MAX_WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    NODES = 16,
    MAX_NS = 1000,
    MAX_BYTES = 1 << 20,
    BASE = 100000,
    THREAD = 1,
};

struct sums {
    uint64_t allocated[NODES], bytes[NODES], freed[NODES]; /* by stack */
    uint64_t by_size[SIZE_CLASSES];
    uint64_t slack, n_elided, n_temporary, n_allocations;
    uint64_t by_group[NODES], by_lifetime[LIFETIME_CLASSES], lifetime_ns; /* elided blocks */
};

struct fixture {
    struct elide *elide;
    struct last_frees *others; /* NULL: one thread */
    struct log_segment segment;
    uint64_t time, from_ticks;
    uint32_t n_words;
    uint64_t words[MAX_WORDS];
    /* of the last call */
    struct elide_result result;
    struct sums after;
};

static uint64_t *add(struct fixture *fixture, unsigned kind, uint32_t node, uint64_t address)
{
    uint64_t *words = fixture->words + fixture->n_words;

    words[0] = kind | (fixture->time & 0xffffff) << 8 | (uint64_t)node << 32;
    words[1] = address | fixture->time >> 24 << LOG_ADDRESS_BITS;
    fixture->n_words += log_event_words(kind);
    return words;
}

static void allocate(struct fixture *fixture, uint32_t node, uint64_t address, uint64_t size)
{
    add(fixture, LOG_ALLOC, node, address)[2] = size;
}

/* A block that lives for 10 ns. */
static void add_pair(struct fixture *fixture, uint32_t node, uint64_t address, uint64_t size)
{
    allocate(fixture, node, address, size);
    fixture->time += 10;
    add(fixture, LOG_FREE, 10, address);
}

static void sum_elided(const uint64_t *words, struct sums *sums)
{
    uint32_t node = (uint32_t)(words[0] >> 32) % NODES;
    uint64_t n = words[1] >> 32 & 0xffff;

    assert_true(n > 0);
    sums->allocated[node] += n;
    sums->bytes[node] += words[3];
    sums->freed[(uint32_t)words[2] % NODES] += n;
    sums->by_size[size_class_of(words[3] / n)] += n;
    sums->slack += words[2] >> 33;
    sums->n_elided += n;
    sums->n_temporary += words[2] >> 32 & 1 ? n : 0;
    sums->by_group[log_group_code((uint32_t)words[1]) % NODES] += n;
    sums->by_lifetime[lifetime_class_of(words[4] / n)] += n;
    sums->lifetime_ns += words[4];
}

static void sum(const uint64_t *words, uint32_t n_words, struct sums *ret_sums)
{
    uint32_t n;

    memset(ret_sums, 0, sizeof(*ret_sums));
    for (uint32_t i = 0; i < n_words; i += n) {
        uint32_t node = (uint32_t)(words[i] >> 32) % NODES;
        uint64_t size = words[i + 2] & ((1ull << LOG_SIZE_BITS) - 1);
        n = log_event_words(words[i] & 255);
        assert_true(n > 0);
        switch (words[i] & 255) {
        case LOG_REALLOC:
        case LOG_ALLOC:
            ret_sums->allocated[node]++;
            ret_sums->bytes[node] += size;
            ret_sums->slack += words[i + 2] >> LOG_SIZE_BITS & 0xffff;
            ret_sums->by_size[size_class_of(size)]++;
            break;
        case LOG_FREE:
            ret_sums->freed[node]++;
            break;
        case LOG_ELIDED:
            sum_elided(words + i, ret_sums);
            break;
        case LOG_ELIDED_ALLOCATIONS:
            ret_sums->n_allocations += words[i] >> 32;
            break;
        default:
            break;
        }
    }
}

/* Elides and checks the sums (CU-1); returns how many blocks were elided. */
static uint64_t elide(struct fixture *fixture, double ticks_per_ns)
{
    const struct elide_input input = {.segment = &fixture->segment,
                                      .payload = fixture->words,
                                      .n_bytes = fixture->n_words * 8,
                                      .others = fixture->others,
                                      .from_ticks = fixture->from_ticks,
                                      .ticks_per_ns = ticks_per_ns};
    const struct sums *after = &fixture->after;
    struct sums before;

    elide_segment(fixture->elide, &input, &fixture->result);
    sum(fixture->words, fixture->n_words, &before);
    sum(fixture->result.payload, fixture->result.n_bytes / 8, &fixture->after);
    assert_memory_equal(before.allocated, after->allocated, sizeof(before.allocated));
    assert_memory_equal(before.freed, after->freed, sizeof(before.freed));
    assert_memory_equal(before.bytes, after->bytes, sizeof(before.bytes));
    assert_memory_equal(before.by_size, after->by_size, sizeof(before.by_size));
    assert_int_equal(before.slack, after->slack);
    assert_int_equal(fixture->result.n_elided, after->n_elided);
    assert_int_equal(after->n_allocations, after->n_elided);
    assert_true(fixture->result.n_bytes <= LOG_SEGMENT_PAYLOAD_BYTES); /* CU-2 */
    assert_true((after->n_elided == 0) == (fixture->result.payload == fixture->words));
    return after->n_elided;
}

static uint32_t count_kind(const struct fixture *fixture, unsigned kind)
{
    const uint64_t *words = fixture->result.payload;
    uint32_t n_found = 0;

    for (uint32_t i = 0; i < fixture->result.n_bytes / 8; i += log_event_words(words[i] & 255))
        n_found += (words[i] & 255) == kind;
    return n_found;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    if (!fixture)
        return -1;
    fixture->elide = elide_new(MAX_NS, MAX_BYTES);
    fixture->others = last_frees_new();
    fixture->segment = (struct log_segment){.thread = THREAD, .base_ticks = BASE};
    return fixture->elide && fixture->others ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    elide_free(fixture->elide);
    last_frees_free(fixture->others);
    free(fixture);
    return 0;
}

/* ---- which blocks ---- */

/* The first block of a program is no exception, however long the program runs. */
TEST_WITH(age_and_size_decide, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 10; i++)
        add_pair(fixture, 9, 0x8000, 32);
    allocate(fixture, 9, 0x1000, 32);
    allocate(fixture, 9, 0x2000, 32);
    allocate(fixture, 9, 0x3000, MAX_BYTES);
    allocate(fixture, 9, 0x4000, MAX_BYTES - 1);
    fixture->time += MAX_NS;
    for (uint64_t address = 0x1000; address <= 0x4000; address += 0x1000) {
        fixture->time += address == 0x2000;
        add(fixture, LOG_FREE, 10, address);
        fixture->time -= address == 0x2000;
    }
    add(fixture, LOG_FREE, 10, 0x5000); /* from an earlier segment */
    allocate(fixture, 9, 0x6000, 32);   /* freed in a later one */
    assert_int_equal(elide(fixture, 1), 12);
    assert_int_equal(elide(fixture, 2), 13);
}

TEST_WITH(reallocated_and_moved_blocks_stay, set_up, tear_down)
{
    struct fixture *fixture = *state;
    uint64_t *words;

    allocate(fixture, 9, 0x1000, 32);
    words = add(fixture, LOG_REALLOC, 11, 0x2000);
    words[2] = 64;
    words[3] = 0x1000;
    add(fixture, LOG_FREE, 10, 0x2000);
    allocate(fixture, 9, 0x3000, 32);
    add(fixture, LOG_MOVE, 5, 0x3000);
    add(fixture, LOG_FREE, 10, 0x3000);
    for (int i = 0; i < 10; i++)
        add_pair(fixture, 9, 0x1000, 32);
    assert_int_equal(elide(fixture, 1), 10);
}

TEST_WITH(groups_are_separate, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < 90; i++) {
        add(fixture, LOG_GROUP, 5 + i % 3, 0);
        add_pair(fixture, 9, 0x1000, 32);
    }
    allocate(fixture, 9, 0x1000, 32);
    add(fixture, LOG_GROUP, 6, 0);
    add(fixture, LOG_FREE, 10, 0x1000);
    assert_int_equal(elide(fixture, 1), 90);
    assert_int_equal(count_kind(fixture, LOG_GROUP), 2); /* only for the block that stays */
    assert_int_equal(count_kind(fixture, LOG_ELIDED), 3);
    for (int i = 5; i < 8; i++)
        assert_int_equal(fixture->after.by_group[i], 30);
}

/* CU-3 */
TEST_WITH(blocks_that_another_thread_freed_stay, set_up, tear_down)
{
    struct fixture *fixture = *state;

    fixture->time = 50000;
    for (int i = 0; i < 10; i++)
        add_pair(fixture, 9, 0x8000, 32);
    last_frees_learn(fixture->others, 0x8000, THREAD, BASE + fixture->time);
    last_frees_learn(fixture->others, 0x2000, 2, BASE + fixture->time - 20000);
    allocate(fixture, 9, 0x1000, 32);
    allocate(fixture, 9, 0x2000, 32);
    last_frees_learn(fixture->others, 0x1000, 2, BASE + fixture->time + 50);
    fixture->time += 100;
    add(fixture, LOG_FREE, 10, 0x1000);
    add(fixture, LOG_FREE, 10, 0x2000);
    assert_int_equal(elide(fixture, 1), 11);
}

/* A thread that continues the segment of another one, under its own number or the same. */
TEST_WITH(threads_of_a_segment_are_separate, set_up, tear_down)
{
    static const unsigned kinds[] = {LOG_THREAD, LOG_NEXT_OWNER};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        for (int k = 0; k < 10; k++)
            add_pair(fixture, 9, 0x2000, 32);
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, kinds[i], 2, 0);
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    assert_int_equal(elide(fixture, 1), 20);
    assert_int_equal(count_kind(fixture, LOG_ELIDED), 2);
}

/* Readers look at all live blocks there. */
TEST_WITH(blocks_that_live_at_another_event_stay, set_up, tear_down)
{
    static const unsigned kinds[] = {LOG_PHASE, LOG_TRACING, LOG_MARK, LOG_FORK, LOG_END};
    struct fixture *fixture = *state;
    const size_t n = sizeof(kinds) / sizeof(*kinds);

    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 10; k++)
            add_pair(fixture, 9, 0x2000, 32);
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, kinds[i], 0, 0);
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    assert_int_equal(elide(fixture, 1), 10 * n);
    assert_int_equal(count_kind(fixture, LOG_ELIDED), n);
}

TEST_WITH(segments_with_pools_stay, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 10; i++)
        add_pair(fixture, 9, 0x1000, 32);
    add(fixture, LOG_POOL_ALLOC, 9, 0x8000)[2] = 1;
    assert_int_equal(elide(fixture, 1), 0);
}

/* ---- totals ---- */

/* Other allocations before the block there is freed, as the importer counts them. */
static uint64_t allocations_until_free(const struct fixture *fixture, uint64_t address)
{
    const uint64_t *words = fixture->result.payload;
    uint64_t allocations = 0;

    for (uint32_t i = 0; i < fixture->result.n_bytes / 8; i += log_event_words(words[i] & 255)) {
        bool is_it = (words[i + 1] & ((1ull << LOG_ADDRESS_BITS) - 1)) == address;
        if ((words[i] & 255) == LOG_ALLOC)
            allocations = is_it ? 0 : allocations + 1;
        else if ((words[i] & 255) == LOG_ELIDED_ALLOCATIONS)
            allocations += words[i] >> 32;
        else if ((words[i] & 255) == LOG_FREE && is_it)
            return allocations;
    }
    fail();
    return 0;
}

/* CU-4 */
TEST_WITH(readers_see_the_same_temporary_blocks, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (uint64_t n_between = 0; n_between < 4; n_between++) {
        uint64_t address = 0x2000 + n_between * 64;
        fixture->n_words = 0;
        for (int i = 0; i < 5; i++)
            add_pair(fixture, 9, 0x1000, 16);
        allocate(fixture, 9, address, MAX_BYTES);
        for (uint64_t i = 0; i < n_between; i++)
            add_pair(fixture, 9, 0x1000, 16);
        add(fixture, LOG_FREE, 9, address);
        for (int i = 0; i < 5; i++)
            add_pair(fixture, 9, 0x1000, 16);
        assert_int_equal(elide(fixture, 1), 10 + n_between);
        uint64_t reported = allocations_until_free(fixture, address);
        assert_true(n_between < 2 ? reported < 2 : reported >= 2);
    }
}

TEST_WITH(totals_are_not_late, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const uint64_t *words;

    for (int i = 0; i < 40; i++) {
        add_pair(fixture, 9, 0x1000, 16);
        fixture->time += ELIDE_DELAY_NS / 9;
    }
    assert_int_equal(elide(fixture, 1), 40);
    words = fixture->result.payload;
    assert_int_equal(words[0] & 255, LOG_ELIDED);
    assert_int_equal(words[1] >> 32 & 0xffff, 9);
    assert_int_equal(count_kind(fixture, LOG_ELIDED), 5);
}

TEST_WITH(sums_hold_for_many_stacks, set_up, tear_down)
{
    struct fixture *fixture = *state;
    uint64_t random = 7;

    while (fixture->n_words + 3 < MAX_WORDS) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        fixture->time += random >> 58;
        if (random >> 40 & 1)
            allocate(fixture, 8 + (random >> 41 & 7), 0x1000 + (random >> 45 & 63) * 16,
                     random >> 50 & 255);
        else
            add(fixture, LOG_FREE, 8 + (random >> 41 & 7), 0x1000 + (random >> 45 & 63) * 16);
    }
    assert_true(elide(fixture, 1) > 100);
}

/* CU-2: where no two blocks are alike, totals take more room than events. */
TEST_WITH(different_blocks_fit_or_stay, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < 300; i++)
        add_pair(fixture, 1000 + i, 0x1000, 16);
    assert_int_equal(elide(fixture, 1), 300);
    while (fixture->n_words + 5 <= MAX_WORDS)
        add_pair(fixture, 1000 + fixture->n_words, 0x1000, 16);
    assert_int_equal(elide(fixture, 1), 0);
}
