/* SPDX-License-Identifier: MIT */
/* Elided blocks plus remaining events equal the original totals, for every stack. */
#include "lib/totals/report_classes.h"
#include "recorder/pack/elide.h"
#include "recorder/pack/elide_clock.h"
#include "recorder/pack/elide_totals.h"
#include "recorder/pack/last_frees.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* The segment begins in the middle of a bucket of the timeline, a quarter of a second before its
 * end. */
static const uint64_t bucket_ns = UINT64_C(1) << 30;
static const uint64_t base_ns = (UINT64_C(930) << 30) + (UINT64_C(3) << 28);

/* Blocks and bytes by stack. */
struct sums {
    uint64_t last_kind; /* of the last event */
    uint64_t allocated[NODES], bytes[NODES], freed[NODES];
    uint64_t n_elided;
    uint64_t by_group[NODES];
    uint64_t by_class[N_CLASSES];    /* allocated blocks */
    uint64_t n_temporary;            /* of those elided */
    uint64_t n_lives, n_allocations; /* of LOG_ELIDED_LIVES and LOG_ELIDED_ALLOCATIONS */
    uint64_t slack, temporary_bytes;
    uint64_t least[NODES], largest[NODES];
};

struct fixture {
    struct log_segment segment;
    uint64_t words[MAX_WORDS];
    uint32_t n_words;
    uint64_t time;
    uint64_t from_ticks;       /* CU-7 */
    struct last_frees *others; /* NULL: one thread */
    struct sums after;         /* of the last elide */
    uint32_t n_after;
    uint64_t elided[MAX_WORDS];
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

static uint64_t n_elided(uint64_t word)
{
    return word >> 16 & 0xffff;
}

static void note_sizes(struct sums *sums, uint32_t node, uint64_t least, uint64_t largest)
{
    if (sums->allocated[node] == 0 || least < sums->least[node])
        sums->least[node] = least;
    if (largest > sums->largest[node])
        sums->largest[node] = largest;
}

static void sum_elided(const uint64_t *words, struct sums *sums)
{
    uint32_t node = (uint32_t)(words[0] >> 32) % NODES;
    uint64_t n = n_elided(words[2]);
    uint64_t size = words[3] & ((1ull << LOG_SIZE_BITS) - 1);
    bool is_mixed = (words[0] & 255) == LOG_ELIDED_MIXED;

    assert_true(n > 0);
    note_sizes(sums, node, is_mixed ? (uint32_t)words[6] : size, is_mixed ? words[6] >> 32 : size);
    sums->allocated[node] += n;
    sums->freed[(words[2] >> 32) % NODES] += n;
    sums->bytes[node] += is_mixed ? (uint32_t)words[3] : n * size;
    sums->slack += is_mixed ? words[3] >> 32 : n * (words[3] >> LOG_SIZE_BITS);
    sums->temporary_bytes += is_mixed ? (uint32_t)words[7] : (words[1] >> 32 & 0xffff) * size;
    if (!is_mixed)
        sums->by_class[size_class_of(size) % N_CLASSES] += n;
    sums->n_temporary += words[1] >> 32 & 0xffff;
    sums->n_elided += n;
    sums->by_group[log_group_code((uint32_t)words[1]) % NODES] += n;
}

static uint32_t node_of(uint64_t word)
{
    return (uint32_t)(word >> 32);
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
        case LOG_ALLOC: {
            uint64_t size = words[i + 2] & ((1ull << LOG_SIZE_BITS) - 1);
            note_sizes(ret_sums, node, size, size);
            ret_sums->allocated[node]++;
            ret_sums->bytes[node] += size;
            ret_sums->slack += words[i + 2] >> LOG_SIZE_BITS & 0xffff;
            ret_sums->by_class[size_class_of(size) % N_CLASSES]++;
            break;
        }
        case LOG_FREE:
            ret_sums->freed[node]++;
            break;
        case LOG_ELIDED:
        case LOG_ELIDED_MIXED:
            n = words[i + 2] & 0xffff;
            sum_elided(words + i, ret_sums);
            break;
        case LOG_ELIDED_SIZES:
            ret_sums->by_class[node_of(words[i]) % N_CLASSES] += words[i + 1] & 0xffffff;
            break;
        case LOG_ELIDED_LIVES:
            ret_sums->n_lives += words[i + 1] & ((1ull << LOG_ADDRESS_BITS) - 1);
            break;
        case LOG_ELIDED_ALLOCATIONS:
            ret_sums->n_allocations += words[i] >> 32;
            break;
        default:
            break;
        }
        assert_true(n > 0);
    }
}

/* Elides and checks the sums; returns how many blocks were elided. */
static uint64_t elide(struct fixture *fixture, double ticks_per_ns)
{
    struct elide *elide = elide_new(MAX_NS);
    const struct log_header file = {.start_ticks = 1000,
                                    .start_monotonic_ns = 1000,
                                    .last_ticks = 1000 + (uint64_t)(1e9 * ticks_per_ns),
                                    .last_monotonic_ns = 1000 + 1000000000};
    uint32_t n_bytes = fixture->n_words * 8;

    fixture->segment.base_ticks = 1000 + (uint64_t)((double)base_ns * ticks_per_ns);
    fixture->segment.base_monotonic_ns = 1000 + base_ns;
    elide_set_clock(elide, &file, 0);
    const uint64_t *elided = elide_temporary(elide, &fixture->segment, fixture->words,
                                             fixture->others, fixture->from_ticks, &n_bytes);
    struct sums before;
    struct sums after;

    assert_true(n_bytes <= LOG_SEGMENT_PAYLOAD_BYTES);
    sum(fixture->words, fixture->n_words, &before);
    sum(elided, n_bytes / 8, &after);
    assert_memory_equal(before.allocated, after.allocated, sizeof(before.allocated));
    assert_memory_equal(before.freed, after.freed, sizeof(before.freed));
    assert_memory_equal(before.bytes, after.bytes, sizeof(before.bytes));
    assert_memory_equal(before.by_class, after.by_class, sizeof(before.by_class));
    assert_memory_equal(before.least, after.least, sizeof(before.least));
    assert_memory_equal(before.largest, after.largest, sizeof(before.largest));
    assert_int_equal(before.slack, after.slack);
    assert_int_equal(elide_count(elide), after.n_elided);
    assert_int_equal(after.n_lives, after.n_elided);
    assert_int_equal(after.n_allocations, after.n_elided);
    fixture->after = after;
    fixture->n_after = n_bytes / 8;
    memcpy(fixture->elided, elided, n_bytes);
    elide_free(elide);
    return after.n_elided;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    if (!fixture)
        return -1;
    /* as if it had been there long: the heap is larger than all that follows, and there was more in
     * it */
    allocate(fixture, 8, 0x10, 1);
    allocate(fixture, 8, 0xf0000, 0xff00);
    fixture->time += 100;
    add(fixture, LOG_FREE, 8, 0xf0000);
    fixture->time += 100;
    return 0;
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
    assert_int_equal(elide(fixture, 1), 100);
}

/* CU-1: different sizes of a stack are told apart, and so are immediately freed blocks. */
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
    assert_int_equal(elide(fixture, 1), 600);
    assert_int_equal(fixture->after.n_temporary, 500);
}

static uint32_t count_kind(const struct fixture *fixture, unsigned kind)
{
    uint32_t n_found = 0;

    for (uint32_t i = 0; i < fixture->n_after;) {
        unsigned n = log_event_words(fixture->elided[i] & 255);
        n_found += (fixture->elided[i] & 255) == kind;
        i += n ? n : (uint32_t)fixture->elided[i + 2] & 0xffff;
    }
    return n_found;
}

/* CT-1: one record has the blocks of a stack, however many sizes they have, and one of each class
 * their sizes; large blocks have their own. */
static void sizes_of_a_stack_are_one_record(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t large = LOG_ELIDED_MIXED_BYTES;

    allocate(fixture, 8, 0x0, 4 * large); /* it was as large before */
    fixture->time += 100;
    add(fixture, LOG_FREE, 8, 0x0);
    fixture->time += 100;
    for (uint64_t i = 0; i < 200; i++) {
        allocate(fixture, 9, 0x1000, (i * 7 % 100) | (i & 15) << LOG_SIZE_BITS);
        if (i % 2)
            allocate(fixture, 10, 0x2000, 24);
        if (i % 100 == 0)
            allocate(fixture, 9, 0x3000, large + i);
        add(fixture, LOG_FREE, 10, 0x1000);
        if (i % 2)
            add(fixture, LOG_FREE, 10, 0x2000);
        if (i % 100 == 0)
            add(fixture, LOG_FREE, 10, 0x3000);
        fixture->time += 1;
    }
    assert_int_equal(elide(fixture, 1), 302);
    assert_int_equal(count_kind(fixture, LOG_ELIDED_MIXED), 1);
    assert_int_equal(count_kind(fixture, LOG_ELIDED_SIZES), size_class_of(99) + 1);
    assert_int_equal(count_kind(fixture, LOG_ELIDED), 3);
    assert_int_equal(fixture->after.temporary_bytes,
                     9900 + 100 * 24 + 2 * large + 100); /* all were */
}

/* A group that nothing is charged to which stays needs no record. */
static void groups_of_what_is_gone_go(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 0; i < 100; i++) {
        add(fixture, LOG_GROUP, 5 + i % 3, 0);
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    add(fixture, LOG_GROUP, 7, 0);
    add(fixture, LOG_FREE, 10, 0x9000);
    add(fixture, LOG_FREE, 10, 0x9010);
    assert_int_equal(elide(fixture, 1), 100);
    assert_int_equal(count_kind(fixture, LOG_GROUP), 1);
    assert_int_equal(count_kind(fixture, LOG_ELIDED), 3);
    assert_int_equal(fixture->after.by_group[5], 34);
    assert_int_equal(fixture->after.by_group[6], 33);
    assert_int_equal(fixture->after.last_kind, LOG_FREE);

    /* CU-7 */
    fixture->from_ticks = 1000 + base_ns + fixture->time + 1;
    assert_int_equal(elide(fixture, 1), 0);
    assert_int_equal(count_kind(fixture, LOG_GROUP), 101);
}

/* The number of other blocks does not matter for a block that is moved to another group, or given
 * out by a pool. */
static void a_move_parts_nothing(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 100; i++) {
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, LOG_FREE, 10, 0x1000);
        if (i % 10 == 0)
            add(fixture, LOG_MOVE, 5, 0x9000);
        if (i % 10 == 5)
            add(fixture, LOG_POOL_FREE, 9, 0x8000)[2] = 1;
        fixture->time += 1;
    }
    assert_int_equal(elide(fixture, 1), 100);
    assert_int_equal(count_kind(fixture, LOG_ELIDED), 1);
    assert_int_equal(count_kind(fixture, LOG_MOVE), 10);
}

/* CU-4: allocations between a realloc and the free of its block are counted with earlier ones if
 * that changes nothing. */
static void allocations_are_reported_together(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 100; i++) {
        allocate(fixture, 8, 0x2000, 32);
        uint64_t *words = add(fixture, LOG_REALLOC, 11, 0x3000);
        words[2] = 64;
        words[3] = 0x2000;
        allocate(fixture, 9, 0x1000, 16);
        add(fixture, LOG_FREE, 10, 0x1000);
        add(fixture, LOG_FREE, 10, 0x3000);
        fixture->time += 1;
    }
    assert_int_equal(elide(fixture, 1), 100);
    assert_in_range(count_kind(fixture, LOG_ELIDED_ALLOCATIONS), 1, 3);
}

/* CU-4: a block whose free is in the next segment was allocated after all elided ones. */
static void totals_stand_before_what_follows(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 100; i++) {
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    allocate(fixture, 9, 0x1000, 32);
    assert_int_equal(elide(fixture, 1), 100);
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
    assert_int_equal(elide(fixture, 1), 1);
    assert_int_equal(elide(fixture, 3), 2);
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
    assert_int_equal(elide(fixture, 1), 0);
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
    assert_int_equal(elide(fixture, 1), 1);
}

/* Each group is counted apart; a block freed in another group, or moved to another one, stays. */
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
    assert_int_equal(elide(fixture, 1), 2);
    assert_int_equal(fixture->after.by_group[LOG_GROUP_ROOT], 1);
    assert_int_equal(fixture->after.by_group[5], 1);
}

static void sums_hold_for_many_stacks(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 7;

    /* CU-2: where no two are alike, totals take more than events */
    while (fixture->n_words + 800 < MAX_WORDS) {
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

/* Another thread's events of a block, in a segment of its own. */
static void do_elsewhere(struct fixture *fixture, unsigned kind, uint64_t address, uint64_t ticks)
{
    struct log_segment segment = {.thread = 2, .base_ticks = 1000 + base_ns + ticks};
    const uint64_t words[] = {kind, address, 0};
    uint64_t last_ticks;

    if (!fixture->others)
        fixture->others = last_frees_new();
    assert_non_null(fixture->others);
    assert_true(last_frees_read_payload(fixture->others, &segment, words, log_event_words(kind) * 8,
                                        &last_ticks));
}

static void a_block_that_changed_hands_stays(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    fixture->time = 1000000;
    do_elsewhere(fixture, LOG_FREE, 0x2000,
                 fixture->time - 500000); /* before: it was another block */
    allocate(fixture, 9, 0x1000, 32);
    allocate(fixture, 9, 0x2000, 32);
    do_elsewhere(fixture, LOG_FREE, 0x1000, fixture->time + 50);
    fixture->time += 100; /* the block of thread 2 at 0x1000 was given to us */
    add(fixture, LOG_FREE, 10, 0x1000);
    add(fixture, LOG_FREE, 10, 0x2000);
    assert_int_equal(elide(fixture, 1), 1);
}

static void a_block_that_another_thread_moved_stays(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    fixture->time = 1000000;
    do_elsewhere(fixture, LOG_MOVE, 0x2000, fixture->time - 500000);
    allocate(fixture, 9, 0x1000, 32);
    allocate(fixture, 9, 0x2000, 32);
    do_elsewhere(fixture, LOG_MOVE, 0x1000, fixture->time + 50);
    fixture->time += 100;
    add(fixture, LOG_FREE, 10, 0x1000);
    add(fixture, LOG_FREE, 10, 0x2000);
    assert_int_equal(elide(fixture, 1), 1);
}

/* CU-8 */
static void no_batch_spans_a_synchronization_point_of_another_thread(void **state)
{
    static const unsigned kinds[] = {LOG_PHASE,       LOG_TRACING, LOG_MARK,
                                     LOG_OBJECT_WALK, LOG_FORK,    LOG_END};
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    fixture->time = 1000000;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        allocate(fixture, 9, 0x1000, 32);
        add(fixture, LOG_FREE, 10, 0x1000);
        fixture->time += 10 * ELIDE_MARGIN_NS;
        allocate(fixture, 9, 0x2000, 32);
        fixture->time += 10;
        do_elsewhere(fixture, kinds[i], 0, fixture->time);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x2000);
        fixture->time += 10 * ELIDE_MARGIN_NS;
    }
    assert_int_equal(elide(fixture, 1), sizeof(kinds) / sizeof(*kinds));
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
    assert_int_equal(last_ticks, fixture->segment.base_ticks + fixture->time - 10);
    assert_int_equal(elide(fixture, 1), 50);
}

/* CU-5 */
static void blocks_live_at_the_peak_are_not_elided(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t i = 0; i < 10; i++) {
        allocate(fixture, 9, 0x1000, 16);
        fixture->time += 10;
        allocate(fixture, 10, 0x2000, i == 5 ? 0x10000 : 16);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x2000);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000);
        fixture->time += 10;
    }
    assert_int_equal(elide(fixture, 1), 18);
}

/* Behind the end of a block of which the segment knows nothing less may be live than before. */
static void later_peaks_stay_where_they_are_higher(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t sizes[] = {0x10000, 0x10001, 0x10000, 0x10002, 16, 0x10002};

    for (uint64_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        allocate(fixture, 9, 0x1000, sizes[i]);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x9000 + i * 16);
        fixture->time += 10;
    }
    assert_int_equal(elide(fixture, 1), 3);
}

/* A batch that begins within one timestamp: frees before that time were never the highest sum. */
static void blocks_freed_at_the_same_time_make_no_peak(void **state)
{
    struct fixture *fixture = *state;

    allocate(fixture, 9, 0x1000, 0x20000);
    add(fixture, LOG_MARK, 0, 0)[2] = 1;
    add(fixture, LOG_FREE, 10, 0x1000);
    fixture->time += 10;
    allocate(fixture, 9, 0x2000, 0x10001);
    fixture->time += 10;
    add(fixture, LOG_FREE, 10, 0x2000);
    fixture->time += 10;
    allocate(fixture, 9, 0x4000, 0x10001);
    fixture->time += 10;
    add(fixture, LOG_FREE, 10, 0x4000);
    assert_int_equal(elide(fixture, 1), 1);
}

/* Another thread may have freed what was there at a higher sum that comes later. */
static void every_peak_stays_where_others_free(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    allocate(fixture, 9, 0x1000, 0x10000);
    fixture->time += 10;
    allocate(fixture, 9, 0x3000, 0x100);
    fixture->time += 10;
    add(fixture, LOG_FREE, 10, 0x3000);
    fixture->time += 10;
    do_elsewhere(fixture, LOG_FREE, 0x1000, fixture->time);
    for (uint64_t size = 0x200; size >= 0x100; size -= 0x100) {
        fixture->time += 10;
        allocate(fixture, 9, 0x4000, size);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x4000);
    }
    assert_int_equal(elide(fixture, 1), 1);
}

/* A block freed by another thread ended then, not when this thread frees a later block at its
 * address. */
static void blocks_freed_by_other_threads_are_freed_once(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    allocate(fixture, 9, 0x1000, 0x10000);
    fixture->time += 10;
    do_elsewhere(fixture, LOG_FREE, 0x1000, fixture->time);
    for (uint64_t size = 0x8000; size <= 0x11000;
         size += 0x9000) { /* the first is less than 0x10000 */
        allocate(fixture, 9, 0x3000, size);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x3000);
        fixture->time += 10;
        if (size == 0x8000)
            add(fixture, LOG_FREE, 10, 0x1000);
        fixture->time += 10;
    }
    assert_int_equal(elide(fixture, 1), 0);
}

/* CU-1: blocks allocated in one bucket of the timeline and freed in the next. */
static void buckets_are_apart(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 10; i++) {
        allocate(fixture, 9, 0x1000, 16);
        fixture->time += i == 5 ? bucket_ns / 2 : 10;
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    assert_int_equal(elide(fixture, 1), 9);
}

/* CU-7 */
static void reported_records_stay(void **state)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 10; i++) {
        fixture->time = 1000 + (unsigned)i * 100;
        allocate(fixture, 9, 0x1000, 16);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    fixture->from_ticks = 1000 + base_ns + 1505;
    assert_int_equal(elide(fixture, 1), 4);
    fixture->from_ticks = UINT64_MAX;
    assert_int_equal(elide(fixture, 1), 0);
}

/* Allocations before the free of the first block at `address`, as the importer counts them. */
static uint64_t allocations_until_end(const uint64_t *words, uint32_t n_words, uint64_t address)
{
    uint64_t allocations = 0;
    uint32_t n;

    for (uint32_t i = 0; i < n_words; i += n) {
        n = log_event_words(words[i] & 255);
        n = n ? n : words[i + 2] & 0xffff;
        bool is_it = (words[i + 1] & ((1ull << LOG_ADDRESS_BITS) - 1)) == address;
        if ((words[i] & 255) == LOG_ALLOC)
            allocations = is_it ? 0 : allocations + 1;
        else if ((words[i] & 255) == LOG_ELIDED_ALLOCATIONS)
            allocations += words[i] >> 32;
        else if ((words[i] & 255) == LOG_FREE && is_it)
            return allocations;
    }
    return UINT64_MAX;
}

/* CU-4: of a block that stays, with at most one or more between its allocation and its free. */
static void temporaries_can_be_reported(void **state)
{
    for (uint64_t n_between = 0; n_between < 4; n_between++) {
        struct fixture *fixture = *state;
        struct log_header file = {.last_ticks = 1000000000, .last_monotonic_ns = 1000000000};
        struct elide *elide = elide_new(ELIDE_ANY_AGE);
        uint32_t n_bytes;

        for (int i = 0; i < 5; i++) {
            allocate(fixture, 9, 0x1000, 16);
            add(fixture, LOG_FREE, 10, 0x1000);
        }
        add(fixture, LOG_GROUP, 5, 0);
        allocate(fixture, 9, 0x2000 + n_between * 64, 16);
        add(fixture, LOG_GROUP, LOG_GROUP_ROOT, 0);
        for (uint64_t i = 0; i < n_between; i++) {
            allocate(fixture, 9, 0x1000, 16);
            add(fixture, LOG_FREE, 10, 0x1000);
        }
        add(fixture, LOG_FREE, 9, 0x2000 + n_between * 64);
        for (int i = 0; i < 5; i++) {
            allocate(fixture, 9, 0x1000, 16);
            add(fixture, LOG_FREE, 10, 0x1000);
        }
        fixture->segment.base_ticks = fixture->segment.base_monotonic_ns = base_ns;
        elide_set_clock(elide, &file, 0);
        n_bytes = fixture->n_words * 8;
        const uint64_t *words =
            elide_temporary(elide, &fixture->segment, fixture->words, NULL, 0, &n_bytes);
        uint64_t reported = allocations_until_end(words, n_bytes / 8, 0x2000 + n_between * 64);
        assert_true(n_between < 2 ? reported < 2 : reported >= 2);
        assert_true(elide_count(elide) >= 10);
        elide_free(elide);
    }
}

/* A thread that continues in the segment of an ended one has made none of its blocks. */
static void threads_of_a_segment_are_apart(void **state)
{
    struct fixture *fixture = *state;

    fixture->segment.thread = 1;
    allocate(fixture, 9, 0x1000, 0x10000);
    fixture->time += 10;
    add(fixture, LOG_THREAD, 2, 0);
    add(fixture, LOG_FREE, 10, 0x1000);
    for (uint64_t size = 0x200; size >= 0x100; size -= 0x100) {
        fixture->time += 10;
        allocate(fixture, 9, 0x4000, size);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x4000);
    }
    assert_int_equal(elide(fixture, 1), 1); /* the other is its peak */
}

/* CU-4, for an older block freed by a thread that continues in the segment of another one. */
static void allocations_are_reported_by_thread(void **state)
{
    struct fixture *fixture = *state;
    struct log_header file = {.last_ticks = 1000000000, .last_monotonic_ns = 1000000000};
    struct elide *elide = elide_new(ELIDE_ANY_AGE);
    uint64_t allocations = 0;
    bool is_reported = false;

    for (int i = 0; i < 5; i++) {
        allocate(fixture, 9, 0x1000, 16);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000);
    }
    add(fixture, LOG_THREAD, 2, 0);
    for (uint64_t i = 0; i < 3; i++) {
        fixture->time += 10;
        allocate(fixture, 9, 0x1000, i == 0 ? 0x10000 : 16);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000);
        if (i == 1)
            add(fixture, LOG_FREE, 10, 0x9000);
    }
    fixture->segment.base_ticks = fixture->segment.base_monotonic_ns = base_ns;
    elide_set_clock(elide, &file, 0);
    uint32_t n_bytes = fixture->n_words * 8;
    const uint64_t *words =
        elide_temporary(elide, &fixture->segment, fixture->words, NULL, 0, &n_bytes);
    for (uint32_t i = 0, n = 0; i < n_bytes / 8 && !is_reported; i += n) {
        unsigned kind = words[i] & 255;
        n = log_event_words(kind);
        n = n ? n : words[i + 2] & 0xffff;
        if (kind == LOG_THREAD)
            allocations = 0;
        allocations += kind == LOG_ALLOC ? 1 : kind == LOG_ELIDED_ALLOCATIONS ? words[i] >> 32 : 0;
        is_reported = kind == LOG_FREE && words[i + 1] == 0x9000;
    }
    assert_true(is_reported);
    assert_int_equal(allocations, 2);
    assert_true(elide_count(elide) >= 7);
    elide_free(elide);
}

/* A segment that was not written to the log is given again: the records of the first time are
 * reported again (CU-6), and nothing is counted twice. */
static void a_segment_that_was_not_written_is_undone(void **state)
{
    struct fixture *fixture = *state;
    struct log_header file = {.last_ticks = 1000000000, .last_monotonic_ns = 1000000000};
    struct elide *elide = elide_new(ELIDE_ANY_AGE);
    uint64_t first[MAX_WORDS];
    uint32_t n_first = 0;

    for (uint64_t i = 0; i < 9; i++) {
        allocate(fixture, 9, 0x1000 + (i % 3) * 0x100, 16);
        fixture->time += 10;
        add(fixture, LOG_FREE, 10, 0x1000 + (i % 3) * 0x100);
        fixture->time += 10;
    }
    fixture->segment.base_ticks = fixture->segment.base_monotonic_ns = base_ns;
    elide_set_clock(elide, &file, 0);
    for (int attempt = 0; attempt < 3; attempt++) {
        uint32_t n_bytes = fixture->n_words * 8;
        const uint64_t *words =
            elide_temporary(elide, &fixture->segment, fixture->words, NULL, 0, &n_bytes);
        struct sums sums;
        sum(words, n_bytes / 8, &sums);
        assert_true(sums.n_elided > 0);
        assert_int_equal(elide_count(elide), sums.n_elided);
        if (attempt == 0)
            memcpy(first, words, n_first = n_bytes);
        assert_int_equal(n_bytes, n_first);
        assert_memory_equal(words, first, n_bytes);
        elide_undo(elide);
        assert_int_equal(elide_count(elide), 0);
    }
    elide_free(elide);
}

/* CC-3 */
static void times_of_a_damaged_log_stay_in_bounds(void **state)
{
    static const uint64_t times[] = {
        0, 1, 1000000, UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};

    enum {
        N = sizeof(times) / sizeof(*times)
    };

    (void)state;
    for (unsigned i = 0; i < N * N * N * N; i++) {
        struct elide_clock clock = {0};
        const struct log_header file = {.start_ticks = times[i % N],
                                        .last_ticks = times[i / N % N],
                                        .start_monotonic_ns = times[i / N / N % N],
                                        .last_monotonic_ns = times[i / N / N / N]};
        elide_clock_begin(&clock, &file);
        for (unsigned k = 0; k < N * N * N && clock.ticks_per_ns > 0; k++) {
            const struct log_segment segment = {.base_ticks = times[k % N],
                                                .base_monotonic_ns = times[k / N % N]};
            uint64_t ticks = times[k / N / N];
            (void)elide_clock_read(&clock, &segment);
            int64_t ns = elide_clock_ns(&clock, ticks);
            int64_t margin = elide_clock_margin_ns(&clock, ticks);
            assert_true(ns >= -ELIDE_CLOCK_MAX && ns <= 2 * ELIDE_CLOCK_MAX);
            assert_true(margin > 0 && margin <= ELIDE_CLOCK_MAX);
            assert_true(ns < 0 || elide_clock_bucket_end(ns) > ns);
        }
    }
}

/* Mixed sizes are counted by class, in a table of limited size. */
static void classes_of_what_is_mixed_have_room(void **state)
{
    (void)state;
    assert_in_range(size_class_of(LOG_ELIDED_MIXED_BYTES - 1), 0, ELIDE_TOTALS_CLASSES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(short_lived_blocks_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(classes_and_temporaries_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_of_a_stack_are_one_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_what_is_gone_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_move_parts_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(allocations_are_reported_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(totals_stand_before_what_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lived_blocks_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_stay_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_of_another_thread_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_block_that_changed_hands_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_block_that_another_thread_moved_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_batch_spans_a_synchronization_point_of_another_thread,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(frees_of_the_thread_itself_do_not_matter, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(blocks_live_at_the_peak_are_not_elided, set_up, tear_down),
        cmocka_unit_test_setup_teardown(later_peaks_stay_where_they_are_higher, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_freed_at_the_same_time_make_no_peak, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_peak_stays_where_others_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_freed_by_other_threads_are_freed_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(buckets_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reported_records_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(temporaries_can_be_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_of_a_segment_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(allocations_are_reported_by_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_segment_that_was_not_written_is_undone, set_up,
                                        tear_down),
        cmocka_unit_test(times_of_a_damaged_log_stay_in_bounds),
        cmocka_unit_test(classes_of_what_is_mixed_have_room),
        cmocka_unit_test_setup_teardown(sums_hold_for_many_stacks, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
