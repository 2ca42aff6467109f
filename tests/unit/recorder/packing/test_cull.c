/* SPDX-License-Identifier: MIT */
/* What is left out plus what is kept is what was, for every stack. */
#include "recorder/packing/cull.h"
#include "recorder/packing/last_frees.h"
#include "support/size_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    MAX_WORDS = LOG_SEGMENT_PAYLOAD_BYTES / 8,
    NODES = 16,
    MAX_NS = 1000,
    N_CLASSES = 64,
};

/* Blocks and bytes by stack. */
struct sums {
    uint64_t last_kind; /* of the last event */
    uint64_t allocated[NODES], bytes[NODES], freed[NODES];
    uint64_t n_culled;
    uint64_t by_group[NODES];
    uint64_t by_class[N_CLASSES]; /* allocated blocks */
    uint64_t n_temporary;         /* of those culled */
};

struct fixture {
    struct log_segment segment;
    uint64_t words[MAX_WORDS];
    uint32_t n_words;
    uint64_t time;
    struct last_frees *others; /* NULL: one thread */
    struct sums after;         /* of the last cull */
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

static uint64_t n_culled(uint64_t word)
{
    return (word & ~LOG_CULLED_TEMPORARY) >> 16;
}

static void sum(const uint64_t *words, uint32_t n_words, struct sums *ret_sums)
{
    uint32_t n;

    memset(ret_sums, 0, sizeof(*ret_sums));
    for (uint32_t i = 0; i < n_words; i += n) {
        uint32_t node = (uint32_t)(words[i] >> 32) % NODES;
        n = log_event_words(words[i] & 255);
        ret_sums->last_kind = words[i] & 255;
        switch (words[i] & 255) {
        case LOG_REALLOC:
        case LOG_ALLOC:
            ret_sums->allocated[node]++;
            ret_sums->bytes[node] += words[i + 2];
            ret_sums->by_class[size_class_of(words[i + 2]) % N_CLASSES]++;
            break;
        case LOG_FREE:
            ret_sums->freed[node]++;
            break;
        case LOG_CULLED:
            n = words[i + 2] & 0xffff;
            ret_sums->allocated[node] += n_culled(words[i + 2]);
            ret_sums->freed[(uint32_t)words[i + 4] % NODES] += n_culled(words[i + 2]);
            ret_sums->bytes[node] += words[i + 3];
            ret_sums->by_class[size_class_of(words[i + 3] / n_culled(words[i + 2])) % N_CLASSES] +=
                n_culled(words[i + 2]);
            if (words[i + 2] & LOG_CULLED_TEMPORARY)
                ret_sums->n_temporary += n_culled(words[i + 2]);
            ret_sums->n_culled += n_culled(words[i + 2]);
            ret_sums->by_group[log_group_code((uint32_t)words[i + 1]) % NODES] +=
                n_culled(words[i + 2]);
            break;
        default:
            break;
        }
        assert_true(n > 0);
    }
}

/* Culls and checks the sums; returns how many blocks were left out. */
static uint64_t cull(struct fixture *fixture, double ticks_per_ns)
{
    struct cull *cull = cull_new(MAX_NS);
    uint32_t n_bytes = fixture->n_words * 8;
    const uint64_t *culled = cull_temporary(cull, &fixture->segment, fixture->words,
                                            fixture->others, ticks_per_ns, &n_bytes);
    struct sums before;
    struct sums after;

    assert_true(n_bytes <= fixture->n_words * 8);
    sum(fixture->words, fixture->n_words, &before);
    sum(culled, n_bytes / 8, &after);
    assert_memory_equal(before.allocated, after.allocated, sizeof(before.allocated));
    assert_memory_equal(before.freed, after.freed, sizeof(before.freed));
    assert_memory_equal(before.bytes, after.bytes, sizeof(before.bytes));
    assert_memory_equal(before.by_class, after.by_class, sizeof(before.by_class));
    assert_int_equal(cull_count(cull), after.n_culled);
    fixture->after = after;
    cull_free(cull);
    return after.n_culled;
}

static int set_up(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    last_frees_free(((struct fixture *)*state)->others);
    free(*state);
    return 0;
}

static void short_lived_blocks_go(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 100; i++) {
        allocate(fixture, 9, 0x1000, 32);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    assert_int_equal(cull(fixture, 1), 100);
}

/* CU-1: sizes of a stack that differ are told apart, and so is what was freed at once. */
static void classes_and_temporaries_are_kept(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 100; i++) {
        allocate(fixture, 9, 0x1000, i * 7);
        allocate(fixture, 9, 0x2000, 3000);
        add(fixture, LOG_FREE, 10, 0x1000); /* one other between */
        allocate(fixture, 9, 0x3000, 24);
        add(fixture, LOG_FREE, 10, 0x3000); /* none */
        add(fixture, LOG_FREE, 10, 0x2000); /* one */
        allocate(fixture, 9, 0x4000, 5);
        allocate(fixture, 9, 0x5000, 5);
        add(fixture, LOG_FREE, 10, 0x5000); /* none */
        allocate(fixture, 9, 0x6000, 5);
        add(fixture, LOG_FREE, 10, 0x4000); /* two */
        add(fixture, LOG_FREE, 10, 0x6000); /* none */
    }
    assert_int_equal(cull(fixture, 1), 600);
    assert_int_equal(fixture->after.n_temporary, 500);
}

/* CU-4: what the segment's end parts from its free was born behind all that was taken out. */
static void totals_stand_before_what_follows(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 100; i++) {
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    allocate(fixture, 9, 0x1000, 32);
    assert_int_equal(cull(fixture, 1), 100);
    assert_int_equal(fixture->after.last_kind, LOG_ALLOC);
}

static void long_lived_blocks_stay(void **state)
{
    struct fixture *fixture = *state;

    allocate(fixture, 9, 0x1000, 32);
    allocate(fixture, 9, 0x2000, 32);
    fixture->time += MAX_NS;
    add(fixture, LOG_FREE, 10, 0x1000);
    fixture->time += 1;
    add(fixture, LOG_FREE, 10, 0x2000);
    add(fixture, LOG_FREE, 10, 0x3000); /* of an earlier segment */
    allocate(fixture, 9, 0x4000, 32);   /* freed in a later one */
    assert_int_equal(cull(fixture, 1), 1);
    assert_int_equal(cull(fixture, 3), 2);
}

static void chains_stay_whole(void **state)
{
    struct fixture *fixture = *state;
    uint64_t *words;

    allocate(fixture, 9, 0x1000, 32);
    words = add(fixture, LOG_REALLOC, 11, 0x2000);
    words[2] = 64;
    words[3] = 0x1000;
    add(fixture, LOG_FREE, 10, 0x2000);
    assert_int_equal(cull(fixture, 1), 0);
}

static void blocks_of_another_thread_stay(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    allocate(fixture, 9, 0x1000, 32);
    add(fixture, LOG_THREAD, 2, 0);
    add(fixture, LOG_FREE, 10, 0x1000);
    allocate(fixture, 9, 0x1000, 32);
    add(fixture, LOG_FREE, 10, 0x1000);
    assert_int_equal(cull(fixture, 1), 1);
}

/* Of each group apart; what is freed in another group, or changes its owner, stays. */
static void groups_are_apart(void **state)
{
    struct fixture *fixture = *state;

    allocate(fixture, 9, 0x1000, 32);
    add(fixture, LOG_FREE, 10, 0x1000);
    add(fixture, LOG_GROUP, 5, 0);
    allocate(fixture, 9, 0x1000, 32);
    add(fixture, LOG_FREE, 10, 0x1000);
    allocate(fixture, 9, 0x1000, 32);
    add(fixture, LOG_GROUP, 6, 0);
    add(fixture, LOG_FREE, 10, 0x1000);
    allocate(fixture, 9, 0x2000, 32);
    add(fixture, LOG_MOVE, 5, 0x2000);
    add(fixture, LOG_FREE, 10, 0x2000);
    assert_int_equal(cull(fixture, 1), 2);
    assert_int_equal(fixture->after.by_group[LOG_GROUP_ROOT], 1);
    assert_int_equal(fixture->after.by_group[5], 1);
}

static void sums_hold_for_many_stacks(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 7;

    while (fixture->n_words + 8 < MAX_WORDS) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        fixture->time += random >> 58;
        if (random >> 40 & 1)
            allocate(fixture, 8 + (random >> 41 & 7), 0x1000 + (random >> 45 & 63) * 16,
                     random >> 50 & 255);
        else
            add(fixture, LOG_FREE, 8 + (random >> 41 & 7), 0x1000 + (random >> 45 & 63) * 16);
    }
    assert_true(cull(fixture, 1) > 100);
}

/* The free of another thread, in a segment of its own. */
static void free_elsewhere(struct fixture *fixture, uint64_t address, uint64_t ticks)
{
    struct log_segment segment = {.thread = 2, .base_ticks = ticks};
    const uint64_t words[] = {LOG_FREE, address};
    uint64_t last_ticks;

    if (!fixture->others)
        fixture->others = last_frees_new();
    assert_non_null(fixture->others);
    assert_true(
        last_frees_read_payload(fixture->others, &segment, words, sizeof(words), &last_ticks));
}

static void a_block_that_changed_hands_stays(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    fixture->time = 1000000;
    free_elsewhere(fixture, 0x2000, fixture->time - 500000); /* before: it was another block */
    allocate(fixture, 9, 0x1000, 32);
    allocate(fixture, 9, 0x2000, 32);
    free_elsewhere(fixture, 0x1000, fixture->time + 50);
    fixture->time += 100; /* the block of thread 2 at 0x1000 was given to us */
    add(fixture, LOG_FREE, 10, 0x1000);
    add(fixture, LOG_FREE, 10, 0x2000);
    assert_int_equal(cull(fixture, 1), 1);
}

static void frees_of_the_thread_itself_do_not_matter(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    fixture->time = 1000000;
    fixture->others = last_frees_new();
    uint64_t last_ticks;
    for (int i = 0; i < 50; i++) {
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, LOG_FREE, 10, 0x1000);
        fixture->time += 10;
    }
    assert_true(last_frees_read_payload(fixture->others, &fixture->segment, fixture->words,
                                        fixture->n_words * 8, &last_ticks));
    assert_int_equal(last_ticks, fixture->time - 10);
    assert_int_equal(cull(fixture, 1), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(short_lived_blocks_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(classes_and_temporaries_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(totals_stand_before_what_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lived_blocks_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_stay_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_of_another_thread_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_block_that_changed_hands_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frees_of_the_thread_itself_do_not_matter, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sums_hold_for_many_stacks, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
