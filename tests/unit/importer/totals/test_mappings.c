/* SPDX-License-Identifier: MIT */
#include "importer/totals/mappings.h"
#include "tests/lib/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PAGE UINT64_C(4096)

struct reported {
    struct mapping pieces[64];
    size_t n;
};

static int on_ended(void *context, const struct mapping *piece, struct error *err)
{
    struct reported *reported = context;

    (void)err;
    reported->pieces[reported->n++] = *piece;
    return 0;
}

static void do_event(struct mappings *mappings, struct event event)
{
    event.address *= PAGE;
    event.old_address *= PAGE;
    event.size *= PAGE;
    event.old_size *= PAGE;
    assert_int_equal(mappings_event(mappings, &event, NULL), 0);
}

/* MA-1 and MA-2 against a page map, for many random calls. */
TEST(random_calls)
{
    enum {
        PAGES = 64,
        CALLS = 2000
    };
    static struct reported reported;
    static struct mapping all[20000];
    size_t n_all = 0;
    struct mappings mappings;
    uint64_t last_id = 0, lengths[20000] = {0};
    uint64_t owner[PAGES] = {0}, seed = 1;

    mappings_init(&mappings, 1, PAGE, &last_id, on_ended, &reported);
    for (int i = 1; i <= CALLS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t first = seed >> 33 & 31, pages = 1 + (seed >> 40 & 15);
        bool maps = seed >> 50 & 1;
        reported.n = 0;
        do_event(&mappings, (struct event){.kind = maps ? EVENT_MMAP : EVENT_MUNMAP,
                                           .time_ns = (uint64_t)i,
                                           .address = first + 1,
                                           .size = pages,
                                           .fd = -1});
        for (size_t piece = 0; piece < reported.n; piece++) {
            for (uint64_t page = 0; page < reported.pieces[piece].length / PAGE; page++)
                assert_int_equal(owner[reported.pieces[piece].address / PAGE + page],
                                 reported.pieces[piece].mapped_ns);
            all[n_all++] = reported.pieces[piece];
        }
        for (uint64_t page = first + 1; page < first + 1 + pages; page++)
            owner[page] = maps ? (uint64_t)i : 0;
        if (maps)
            lengths[i] = pages * PAGE;
    }
    reported.n = 0;
    assert_int_equal(mappings_finish(&mappings, NULL), 0);
    for (size_t piece = 0; piece < reported.n; piece++)
        all[n_all++] = reported.pieces[piece];
    for (size_t piece = 0; piece < n_all; piece++)
        lengths[all[piece].mapped_ns] -= all[piece].length;
    for (int i = 1; i <= CALLS; i++)
        assert_int_equal(lengths[i], 0);
    mappings_done(&mappings);
}

/* Samples by share of length, summed up over an instant; a part keeps what it surely had. */
TEST(samples)
{
    struct mappings mappings;
    struct reported reported = {.n = 0};
    uint64_t last_id = 0;

    mappings_init(&mappings, 1, PAGE, &last_id, on_ended, &reported);
    do_event(&mappings, (struct event){.kind = EVENT_MMAP, .address = 10, .size = 10, .fd = -1});
    do_event(&mappings, (struct event){.kind = EVENT_MMAP, .address = 20, .size = 30, .fd = -1});
    do_event(&mappings, (struct event){.kind = EVENT_MMAP, .address = 60, .size = 1, .fd = -1});
    mappings_sample(&mappings, 1, 10 * PAGE, 50 * PAGE, 8 * PAGE); /* one of both: 2 and 6 pages */
    mappings_sample(&mappings, 2, 20 * PAGE, 30 * PAGE, 5 * PAGE); /* the second in parts: 9 */
    mappings_sample(&mappings, 2, 30 * PAGE, 50 * PAGE, 4 * PAGE);
    mappings_sample(&mappings, 3, 20 * PAGE, 50 * PAGE, 3 * PAGE);
    do_event(&mappings, (struct event){.kind = EVENT_MUNMAP, .address = 20, .size = 10});
    assert_int_equal(mappings_finish(&mappings, NULL), 0);
    assert_int_equal(reported.n, 4);
    assert_int_equal(reported.pieces[0].address, 20 * PAGE); /* unmapped: perhaps none of 9 */
    assert_int_equal(reported.pieces[0].peak_rss_bytes, 0);
    assert_int_equal(reported.pieces[1].peak_rss_bytes, 2 * PAGE);
    assert_int_equal(reported.pieces[2].peak_rss_bytes, 0);
    assert_int_equal(reported.pieces[3].peak_rss_bytes, MAPPINGS_NEVER);
    mappings_done(&mappings);
}

#define LOOK(where, pages, bytes, is_run)                      \
    do_event(&mappings, (struct event){.kind = EVENT_RESIDENT, \
                                       .address = (where),     \
                                       .size = (pages),        \
                                       .value = (bytes),       \
                                       .call = (is_run)})

/* Pages that a process finds in its own memory are attributed to the part that it looked at, not by
 * length. */
TEST(looks)
{
    struct mappings mappings;
    struct reported reported = {.n = 0};
    uint64_t last_id = 0;

    mappings_init(&mappings, 1, PAGE, &last_id, on_ended, &reported);
    do_event(&mappings, (struct event){.kind = EVENT_MMAP, .address = 10, .size = 30, .fd = -1});
    LOOK(20, 5, 0, 0);
    LOOK(20, 1, PAGE, 1);
    LOOK(22, 2, 2 * PAGE, 1);
    do_event(&mappings, (struct event){.kind = EVENT_MUNMAP, .address = 20, .size = 5});
    LOOK(25, 15, 0, 0); /* comes to no end: that it found nothing says nothing */
    LOOK(30, 10, -1, 1);
    LOOK(10, 10, 0, 0);
    assert_int_equal(mappings_finish(&mappings, NULL), 0);
    assert_int_equal(reported.n, 3);
    assert_int_equal(reported.pieces[0].address, 20 * PAGE);
    assert_int_equal(reported.pieces[0].length, 5 * PAGE);
    assert_int_equal(reported.pieces[0].peak_rss_bytes, 3 * PAGE);
    assert_int_equal(reported.pieces[1].address, 10 * PAGE);
    assert_int_equal(reported.pieces[1].peak_rss_bytes, 0);
    assert_int_equal(reported.pieces[2].address, 25 * PAGE);
    assert_true(reported.pieces[2].peak_rss_bytes == MAPPINGS_NEVER);
    assert_int_equal(mappings.n_unknown, 1);
    mappings_done(&mappings);
}
