/* SPDX-License-Identifier: MIT */
#include "importer/totals/heap_ranges.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAIN_HEAP UINT64_C(0x555555560000)
#define ARENA     UINT64_C(0x7f0000000000)
#define MIB       (UINT64_C(1) << 20)

enum {
    MAIN = LOG_CHUNK_KNOWN,
    IN_ARENA = LOG_CHUNK_KNOWN | LOG_CHUNK_NON_MAIN,
    OWN_MAPPING = LOG_CHUNK_KNOWN | LOG_CHUNK_MMAPPED,
    FOREIGN = 0,
};

static const uint8_t word_bytes[] = {0, 8, 8};
static const uint32_t page_bytes[] = {0, 4096, 4096};

static struct heap_ranges *new_ranges(void)
{
    struct heap_ranges *ranges;

    assert_int_equal(heap_ranges_new(2, page_bytes, word_bytes, &ranges, NULL), 0);
    return ranges;
}

static void allocated_at(struct heap_ranges *ranges, uint64_t time_ns, uint32_t process, int call,
                         uint64_t address, uint64_t bytes)
{
    struct heap_allocation allocation = {.time_ns = time_ns,
                                         .address = address,
                                         .usable_bytes = bytes,
                                         .process = process,
                                         .call = (uint8_t)call};

    assert_int_equal(heap_ranges_allocated(ranges, &allocation, NULL), 0);
}

static void allocated(struct heap_ranges *ranges, uint32_t process, int call, uint64_t address,
                      uint64_t bytes)
{
    allocated_at(ranges, 0, process, call, address, bytes);
}

static void check(const struct heap_ranges *ranges, uint32_t id, uint32_t process,
                  enum log_heap_kind kind, uint64_t start, uint64_t end)
{
    const struct heap_range *heap = heap_ranges_get(ranges, id);

    assert_int_equal(heap->heap_id, id);
    assert_int_equal(heap->process, process);
    assert_int_equal(heap->kind, kind);
    assert_int_equal(heap->start, start);
    assert_int_equal(heap->end, end);
}

/* A 32-bit program: arenas lie in 1 MiB each, and a header has 4 bytes. */
TEST(narrow)
{
    static const uint8_t narrow_words[] = {0, 4, 8};
    struct heap_ranges *ranges;

    assert_int_equal(heap_ranges_new(2, page_bytes, narrow_words, &ranges, NULL), 0);
    for (uint32_t process = 1; process <= 2; process++) {
        allocated(ranges, process, MAIN, 0x56560000 + 0x198, 100);
        allocated(ranges, process, IN_ARENA, 0xf6500000 + 0x8c0, 100);
        allocated(ranges, process, IN_ARENA, 0xf6600000 + 0x30, 100);
    }
    assert_int_equal(heap_ranges_finish(ranges, NULL), 0);
    assert_int_equal(heap_ranges_count(ranges), 5);
    check(ranges, 1, 1, LOG_HEAP_BRK, 0x56560000, 0x56561000);
    check(ranges, 2, 1, LOG_HEAP_ARENA, 0xf6500000, 0xf6501000);
    check(ranges, 3, 1, LOG_HEAP_ARENA, 0xf6600000, 0xf6601000);
    check(ranges, 5, 2, LOG_HEAP_ARENA, 0xf4000000, 0xf6601000);
    assert_int_equal(heap_ranges_get(ranges, 1)->header_bytes, 4);
    assert_int_equal(heap_ranges_get(ranges, 3)->header_bytes, 4);
    assert_int_equal(heap_ranges_get(ranges, 5)->header_bytes, 8);
    heap_ranges_free(ranges);
}

/* HR-5: two heaps that grow and shrink all the time: few extents are kept, the highest of each
 * among them. */
TEST(bounded)
{
    enum {
        MOST = 64,
        MANY = 10000,
        HIGHEST = 7777
    };
    struct heap_ranges *ranges = new_ranges();

    heap_ranges_bound(ranges, MOST);
    allocated(ranges, 1, MAIN, MAIN_HEAP + 0x290, 100);
    for (uint64_t i = 1; i <= MANY; i++) {
        uint64_t n_pages = i == HIGHEST ? 1000 : 10 + i % 7;
        assert_int_equal(heap_ranges_extent(ranges, 1 + i % 2, i * 1000, MAIN_HEAP,
                                            MAIN_HEAP + n_pages * 4096, LOG_HEAP_BRK, NULL),
                         0);
        assert_true(heap_ranges_count_extents(ranges) <= MOST);
    }
    assert_int_equal(heap_ranges_count_extents(ranges) + heap_ranges_n_left_out(ranges), MANY);
    uint64_t highest = 0;
    for (size_t i = 0; i < heap_ranges_count_extents(ranges); i++)
        if (heap_ranges_get_extent(ranges, i).end > highest)
            highest = heap_ranges_get_extent(ranges, i).end;
    assert_int_equal(highest, MAIN_HEAP + 1000 * 4096);
    heap_ranges_free(ranges);
}

/* HR-5: as many heaps as there is room for, and more: the highest of each that had room is kept,
 * and an extent costs the same as if there were few: a million of them take less than a second,
 * where each that looks at all would take hours. */
TEST(bounded_with_many_heaps)
{
    enum {
        MOST = 1 << 14,
        HEAPS = MOST + 100,
        ROUNDS = 64,
        HIGHEST = 40
    };
    struct heap_ranges *ranges = new_ranges();

    heap_ranges_bound(ranges, MOST);
    for (uint64_t round = 1; round <= ROUNDS; round++)
        for (uint64_t heap = 0; heap < HEAPS; heap++) {
            uint64_t start = ARENA + heap * 64 * MIB;
            uint64_t n_pages = round == HIGHEST ? 1000 : 10 + round;
            assert_int_equal(heap_ranges_extent(ranges, 1, round * 1000 + heap, start,
                                                start + n_pages * 4096, LOG_HEAP_ARENA, NULL),
                             0);
        }
    assert_int_equal(heap_ranges_count_extents(ranges), MOST);
    assert_int_equal(heap_ranges_n_left_out(ranges), ROUNDS * HEAPS - MOST);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(heap_ranges_get_extent(ranges, i).end % (64 * MIB),
                         (ARENA + 1000 * 4096) % (64 * MIB));
    heap_ranges_free(ranges);
}

/* HR-4: a heap in which the parent had a block before the fork may have inherited ones; one that
 * the parent made later, or that lies elsewhere, is the child's alone. */
TEST(unseen_blocks)
{
    struct heap_ranges *ranges = new_ranges();

    allocated_at(ranges, 100, 1, MAIN, MAIN_HEAP + 0x290, 100);
    allocated_at(ranges, 200, 2, MAIN, MAIN_HEAP + 3 * MIB, 100);
    allocated_at(ranges, 300, 1, IN_ARENA, ARENA + 0x8c0, 100);
    allocated_at(ranges, 300, 2, IN_ARENA, ARENA + 0x8c0, 100);
    allocated_at(ranges, 400, 2, MAIN, MAIN_HEAP + 0x400, 100);
    assert_int_equal(heap_ranges_finish(ranges, NULL), 0);
    assert_int_equal(heap_ranges_count(ranges), 4);
    heap_ranges_mark_inherited(ranges, 2, 1, 99);
    assert_int_equal(heap_ranges_get(ranges, 3)->unseen, HEAP_ALL_SEEN);
    heap_ranges_mark_inherited(ranges, 2, 1, 150);
    assert_int_equal(heap_ranges_get(ranges, 3)->unseen, HEAP_INHERITED);
    assert_int_equal(heap_ranges_get(ranges, 4)->unseen, HEAP_ALL_SEEN);
    heap_ranges_mark_untracked(ranges, 2);
    assert_int_equal(heap_ranges_get(ranges, 3)->unseen, HEAP_INHERITED);
    assert_int_equal(heap_ranges_get(ranges, 4)->unseen, HEAP_UNTRACKED);
    heap_ranges_mark_inherited(ranges, 2, 0, 0);
    assert_int_equal(heap_ranges_get(ranges, 4)->unseen, HEAP_INHERITED);
    assert_int_equal(heap_ranges_get(ranges, 1)->unseen, HEAP_ALL_SEEN);
    heap_ranges_free(ranges);
}

/* Steps through a range, such as a sanitizer's 16 TiB, are as long as nothing changes. */
TEST(far_from_foreign_blocks_is_one_step)
{
    struct heap_ranges *ranges = new_ranges();
    uint64_t until;

    allocated(ranges, 1, FOREIGN, ARENA, 64);
    assert_false(heap_ranges_is_foreign(ranges, 1, 0x10000, &until));
    assert_int_equal(until, ARENA);
    assert_true(heap_ranges_is_foreign(ranges, 1, ARENA, &until));
    assert_int_equal(until, ARENA + 4096);
    assert_false(heap_ranges_is_foreign(ranges, 1, ARENA + 100 * MIB, &until));
    assert_int_equal(until, UINT64_MAX);
    heap_ranges_free(ranges);
}

/* No log can make a block cover all pages there are. */
TEST(implausible)
{
    assert_true(heap_ranges_is_heap_block(MAIN, 1 << 30));
    assert_false(heap_ranges_is_heap_block(MAIN, UINT64_C(1) << 40));
    assert_false(heap_ranges_is_heap_block(OWN_MAPPING, 100));
    assert_false(heap_ranges_is_heap_block(FOREIGN, UINT64_C(64) << 20));
}
