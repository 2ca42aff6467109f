/* SPDX-License-Identifier: MIT */
/* The six parts of a footprint, and the site that pins a page, computed by hand. */
#include "importer/totals/heap_pages.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAP UINT64_C(0x555555560000)
#define PAGE UINT64_C(4096)

enum {
    LOWEST = 0x290, /* of a block in a heap of glibc */
};

static const uint8_t word_bytes[] = {0, 8};
static const uint32_t page_bytes[] = {0, 4096};

struct fixture {
    struct heap_ranges *ranges;
    struct heap_pages pages;
};

static void allocated(struct fixture *fixture, uint8_t call, uint64_t address)
{
    struct heap_allocation allocation = {
        .process = 1, .call = call, .address = address, .usable_bytes = 64};

    assert_int_equal(heap_ranges_allocated(fixture->ranges, &allocation, NULL), 0);
}

/* A heap of ten pages, seen to reach so far at 100 ns. */
static void begin(struct fixture *fixture, uint8_t call)
{
    assert_int_equal(heap_ranges_new(1, page_bytes, word_bytes, &fixture->ranges, NULL), 0);
    allocated(fixture, call, HEAP + LOWEST);
    allocated(fixture, call, HEAP + 9 * PAGE);
    assert_int_equal(
        heap_ranges_extent(fixture->ranges, 1, 100, HEAP, HEAP + 10 * PAGE, LOG_HEAP_BRK, NULL), 0);
    assert_int_equal(heap_ranges_finish(fixture->ranges, NULL), 0);
    assert_int_equal(heap_pages_init(&fixture->pages, fixture->ranges, page_bytes, NULL, NULL), 0);
}

static void add(struct fixture *fixture, uint64_t id, uint64_t offset, uint64_t size,
                uint64_t slack, uint32_t backtrace)
{
    struct allocation allocation = {.allocation_id = id,
                                    .address = HEAP + offset,
                                    .size_bytes = size,
                                    .slack_bytes = slack,
                                    .backtrace = backtrace,
                                    .heap = 1};

    assert_int_equal(heap_pages_add(&fixture->pages, &allocation, NULL), 0);
}

/* HP-1 */
static const struct heap_parts *finish(struct fixture *fixture)
{
    const uint64_t moment_ns[] = {0, 100};
    const struct heap_parts *parts = &fixture->pages.states[1].parts;

    assert_int_equal(heap_pages_finish(&fixture->pages, moment_ns, NULL), 0);
    assert_int_equal(parts->extent_bytes, parts->live_bytes + parts->slack_bytes
                                              + parts->overhead_bytes + parts->hole_bytes
                                              + parts->free_page_bytes + parts->top_bytes);
    return parts;
}

static void end(struct fixture *fixture)
{
    heap_pages_done(&fixture->pages);
    heap_ranges_free(fixture->ranges);
}

/* Live on page 0, over the border of pages 2 and 3, and nowhere else: page 1 is free, 4 to 9
 * top. */
TEST(six_parts)
{
    struct fixture fixture;

    begin(&fixture, LOG_CHUNK_KNOWN);
    add(&fixture, 1, LOWEST, 60, 4, 7);
    add(&fixture, 2, 3 * PAGE - 16, 40, 0, 8);
    add(&fixture, 3, 3 * PAGE + 40, 24, 0, 9);
    const struct heap_parts *parts = finish(&fixture);
    assert_int_equal(parts->extent_bytes, 10 * PAGE);
    assert_int_equal(parts->live_bytes, 124);
    assert_int_equal(parts->slack_bytes, 4);
    assert_int_equal(parts->overhead_bytes,
                     LOWEST - 8 + 3 * 8); /* malloc's own, and three headers */
    assert_int_equal(parts->free_page_bytes, PAGE);
    assert_int_equal(parts->top_bytes, 6 * PAGE);
    assert_int_equal(fixture.pages.states[1].topmost_id, 3);
    assert_int_equal(fixture.pages.states[1].topmost_backtrace, 9);
    end(&fixture);
}

/* HP-2, HP-3 */
TEST(owners)
{
    struct fixture fixture;

    begin(&fixture, 0);
    add(&fixture, 1, LOWEST, 64, 0, 7);
    add(&fixture, 2, LOWEST + 64, 64, 0, 7);
    add(&fixture, 3, 3 * PAGE - 16, 32, 0, 8);
    add(&fixture, 4, 3 * PAGE + 16, 32, 0, 9);
    (void)finish(&fixture);
    assert_int_equal(fixture.pages.n_pages, 3);
    const struct heap_page *pages = fixture.pages.pages;
    assert_int_equal(pages[0].address, HEAP);
    assert_int_equal(pages[0].owner_backtrace, 7);
    assert_int_equal(pages[0].live_bytes, 128);
    assert_int_equal(pages[0].live_blocks, 2);
    assert_int_equal(pages[1].address, HEAP + 2 * PAGE);
    assert_int_equal(pages[1].owner_backtrace, 8);
    assert_int_equal(pages[1].live_bytes, 16);
    assert_true(pages[1].common_frames == HEAP_PAGES_ONE_STACK);
    assert_int_equal(pages[2].common_frames, 0);
    assert_int_equal(pages[2].live_bytes, 48);
    end(&fixture);
}

/* Overlapping blocks, which dropped events leave behind: the parts fit all the same. */
TEST(overlapping)
{
    struct fixture fixture;

    begin(&fixture, LOG_CHUNK_KNOWN);
    for (uint64_t i = 0; i < 100; i++)
        add(&fixture, i + 1, LOWEST + i * 16, 3000, 8, 7);
    const struct heap_parts *parts = finish(&fixture);
    assert_int_equal(parts->hole_bytes, 0);
    assert_true(parts->live_bytes <= 2 * PAGE);
    end(&fixture);
}

/* Pages of many chunks, added from above: each comes once, in order, also where a block lies on
 * both sides of a border between chunks. */
TEST(many_chunks)
{
    enum {
        N_PAGES = 40 * HEAP_PAGES_CHUNK
    };

    struct fixture fixture;

    begin(&fixture, 0);
    for (uint64_t i = N_PAGES; i-- > 0;)
        if (i % 3 == 0)
            add(&fixture, i + 1, i * PAGE + PAGE / 2, PAGE, 0, 7);
    (void)finish(&fixture);
    size_t n = 0;
    for (uint64_t i = 0; i < N_PAGES; i++) {
        if (i % 3 == 2)
            continue;
        const struct heap_page *page = &fixture.pages.pages[n++];
        assert_int_equal(page->address, HEAP + i * PAGE);
        assert_int_equal(page->live_bytes, PAGE / 2);
        assert_int_equal(page->example_id, i - i % 3 + 1);
    }
    assert_int_equal(fixture.pages.n_pages, n + 1); /* the last block reaches farther */
    end(&fixture);
}

/* HP-3: the block with the lowest id decides whose a page is, in any order of insertion; here of
 * pages of one chunk. */
TEST(any_order)
{
    enum {
        N_PAGES = HEAP_PAGES_CHUNK,
        STEP = 77 /* coprime to it */
    };

    struct fixture fixture;

    begin(&fixture, 0);
    for (uint64_t n = 0; n < 3; n++)
        for (uint64_t i = 0; i < N_PAGES; i++) {
            uint64_t k = i * STEP % N_PAGES;
            uint64_t of_block = (n + k) % 3;
            add(&fixture, 3 * k + of_block + 1, k * PAGE + of_block * 64, 64, 0,
                (uint32_t)(10 + of_block));
        }
    add(&fixture, 3 * N_PAGES + 1, (N_PAGES - 1) * PAGE + 128, 64, 0, 20); /* overlaps the last */
    (void)finish(&fixture);
    assert_int_equal(fixture.pages.n_pages, N_PAGES);
    for (uint64_t k = 0; k < N_PAGES; k++) {
        const struct heap_page *page = &fixture.pages.pages[k];
        assert_int_equal(page->address, HEAP + k * PAGE);
        assert_int_equal(page->example_id, 3 * k + 1);
        assert_int_equal(page->owner_backtrace, 10);
        assert_int_equal(page->common_frames, 0);
        assert_int_equal(page->live_blocks, k + 1 < N_PAGES ? 3 : 4);
    }
    assert_int_equal(fixture.pages.states[1].topmost_id, 3 * N_PAGES);
    assert_int_equal(fixture.pages.states[1].topmost_backtrace, 12);
    end(&fixture);
}

/* HP-4, HP-5: pages that one block fills are one element, beside shared pages; overlapping claims
 * are not counted twice. */
TEST(whole_pages)
{
    enum {
        MANY = 1 << 20
    };

    struct fixture fixture;

    begin(&fixture, LOG_CHUNK_KNOWN);
    add(&fixture, 1, LOWEST, 2 * PAGE, 0, 7); /* fills page 1 */
    add(&fixture, 2, 3 * PAGE, (uint64_t)MANY * PAGE, 0, 8);
    add(&fixture, 3, 4 * PAGE + 16, 32, 0, 9);            /* within 2 */
    add(&fixture, 4, (MANY + 1) * PAGE, 4 * PAGE, 0, 10); /* half of it within 2 */
    const struct heap_parts *parts = finish(&fixture);
    const struct heap_page *pages = fixture.pages.pages;
    assert_int_equal(fixture.pages.n_pages, 5);
    assert_int_equal(pages[1].address, HEAP + PAGE);
    assert_int_equal(pages[1].n_pages, 1);
    assert_int_equal(pages[2].n_pages, 1);
    assert_int_equal(pages[2].live_bytes, LOWEST);
    assert_int_equal(pages[3].address, HEAP + 3 * PAGE);
    assert_int_equal(pages[3].n_pages, MANY);
    assert_int_equal(pages[3].live_bytes, (uint64_t)MANY * PAGE);
    assert_int_equal(pages[3].example_id, 2);
    assert_int_equal(pages[3].live_blocks, 1);
    assert_int_equal(pages[4].address, HEAP + (3 + MANY) * PAGE);
    assert_int_equal(pages[4].n_pages, 2);
    assert_int_equal(parts->free_page_bytes, 0);
    assert_int_equal(fixture.pages.states[1].pages_to[3], 2 + MANY + 2);
    end(&fixture);
}

TEST(nothing_live)
{
    struct fixture fixture;

    begin(&fixture, LOG_CHUNK_KNOWN);
    const struct heap_parts *parts = finish(&fixture);
    assert_int_equal(parts->top_bytes, 10 * PAGE);
    assert_int_equal(fixture.pages.n_pages, 0);
    end(&fixture);
}
