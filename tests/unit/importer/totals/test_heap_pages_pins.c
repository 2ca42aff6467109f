/* SPDX-License-Identifier: MIT */
/* Pages with an owner, by process and owner: counted by hand. */
#include "importer/totals/heap_pages.h"
#include "tests/lib/unit.h"

#include <unistd.h>

#define HEAP UINT64_C(0x555555560000)
#define PAGE UINT64_C(4096)

static const uint8_t word_bytes[] = {0, 8, 8};
static const uint32_t page_bytes[] = {0, 4096, 4096};

/* 2 and 4 end in the same two frames, 50 and 51; 6 in 50 alone. Others are roots of their own. */
static const struct definitions_backtrace stacks[] = {
    [1] = {.frame = 51},
    [2] = {.parent = 1, .frame = 50},
    [3] = {.frame = 60},
    [4] = {.parent = 5, .frame = 50},
    [5] = {.parent = 3, .frame = 51},
    [6] = {.parent = 3, .frame = 50},
    [7] = {.frame = 70},
    [8] = {.frame = 80},
};

struct fixture {
    struct heap_ranges *ranges;
    struct heap_pages pages;
};

/* Heap 1 of process 1, heap 2 of process 2 at the same addresses. */
static void begin(struct fixture *fixture)
{
    assert_int_equal(heap_ranges_new(2, page_bytes, word_bytes, &fixture->ranges, NULL), 0);
    for (uint32_t process = 1; process <= 2; process++) {
        struct heap_allocation allocation = {
            .process = process, .address = HEAP, .usable_bytes = 64};
        assert_int_equal(heap_ranges_allocated(fixture->ranges, &allocation, NULL), 0);
        allocation.address += 9 * PAGE;
        assert_int_equal(heap_ranges_allocated(fixture->ranges, &allocation, NULL), 0);
    }
    assert_int_equal(heap_ranges_finish(fixture->ranges, NULL), 0);
    assert_int_equal(heap_pages_init(&fixture->pages, fixture->ranges, page_bytes, stacks, NULL),
                     0);
}

static void add(struct fixture *fixture, uint32_t heap, uint64_t id, uint64_t offset, uint64_t size,
                uint32_t backtrace)
{
    struct allocation allocation = {.allocation_id = id,
                                    .address = HEAP + offset,
                                    .size_bytes = size,
                                    .backtrace = backtrace,
                                    .heap = heap};

    assert_int_equal(heap_pages_add(&fixture->pages, &allocation, NULL), 0);
}

static void end(struct fixture *fixture)
{
    heap_pages_done(&fixture->pages);
    heap_ranges_free(fixture->ranges);
}

/* HN-1, HN-2: backtrace 7 owns three pages of process 1, two with 50 bytes; page 4 has no owner. */
TEST(by_process_and_owner)
{
    const uint64_t moments_ns[] = {0, 100, 100};
    struct fixture fixture;
    struct heap_pin *pins;
    size_t n;

    begin(&fixture);
    add(&fixture, 1, 1, 0, 100, 7);
    add(&fixture, 1, 2, 2 * PAGE, 50, 7);
    add(&fixture, 1, 3, 3 * PAGE, 50, 7);
    add(&fixture, 1, 4, 4 * PAGE, 10, 7);
    add(&fixture, 1, 5, 4 * PAGE + 10, 10, 8);
    add(&fixture, 2, 6, PAGE, 10, 7);
    add(&fixture, 1, 7, PAGE, 200, 3);
    assert_int_equal(heap_pages_finish(&fixture.pages, moments_ns, NULL), 0);
    assert_int_equal(heap_pages_make_pins(&fixture.pages, &pins, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(pins[0].backtrace, 3);
    assert_int_equal(pins[0].example_id, 7);
    assert_int_equal(pins[1].backtrace, 7);
    assert_int_equal(pins[1].heap, 1);
    assert_int_equal(pins[1].n_pages, 3);
    assert_int_equal(pins[1].live_bytes, 200);
    assert_int_equal(pins[1].emptiest_bytes, 50);
    assert_int_equal(pins[1].example_id, 2);
    assert_int_equal(pins[2].backtrace, 7);
    assert_int_equal(pins[2].heap, 2);
    assert_int_equal(pins[2].n_pages, 1);
    free(pins);
    end(&fixture);
}

/* Two pages of 2 and 4, one of which 6 joins; one where 7 leaves nothing in common. */
TEST(frames_in_common)
{
    const uint64_t moments_ns[] = {0, 100, 100};
    static const uint32_t nodes[][3] = {{2, 4, 4}, {2, 4, 6}, {2, 7, 2}, {2, 2, 4}};
    struct fixture fixture;
    struct heap_pin *pins;
    size_t n;

    begin(&fixture);
    for (uint64_t page = 0; page < 4; page++) {
        for (uint64_t i = 0; i < 3; i++)
            add(&fixture, 1, page * 3 + i + 1, page * PAGE + i * 100, 100, nodes[page][i]);
    }
    assert_int_equal(heap_pages_finish(&fixture.pages, moments_ns, NULL), 0);
    assert_int_equal(heap_pages_make_pins(&fixture.pages, &pins, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(pins[0].backtrace, 2);
    assert_int_equal(pins[0].common_frames, 1);
    assert_int_equal(pins[0].n_pages, 1);
    assert_int_equal(pins[1].common_frames, 2);
    assert_int_equal(pins[1].n_pages, 2);
    assert_int_equal(pins[1].example_id, 1);
    free(pins);
    end(&fixture);
}

TEST(nothing_live)
{
    const uint64_t moments_ns[] = {0, 100, 100};
    struct fixture fixture;
    struct heap_pin *pins;
    size_t n;

    begin(&fixture);
    assert_int_equal(heap_pages_finish(&fixture.pages, moments_ns, NULL), 0);
    assert_int_equal(heap_pages_make_pins(&fixture.pages, &pins, &n, NULL), 0);
    assert_int_equal(n, 0);
    free(pins);
    end(&fixture);
}
