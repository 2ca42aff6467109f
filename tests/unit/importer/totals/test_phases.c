/* SPDX-License-Identifier: MIT */
/* Overlapping phases, and more than may be open at the same time. */
#include "importer/totals/phases.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

static bool emit(struct phases *phases, const char *name, int64_t number, uint64_t live_bytes)
{
    struct event event = {.kind = EVENT_PHASE, .text = name, .value = number};
    struct phase_numbers numbers = {.live_bytes = live_bytes};
    bool is_known;

    assert_int_equal(phases_event(phases, &event, &numbers, 0, &is_known, NULL), 0);
    return is_known;
}

/* a [10 . . . 5], b [. 20 . 30] and between them 70 for a moment, in every open phase. */
TEST(the_peak_is_of_all_that_were_open)
{
    struct phases phases = {0};

    assert_true(emit(&phases, "a", 1, 10));
    phases_advance(&phases, 40);
    assert_true(emit(&phases, "b", 2, 20));
    phases_advance(&phases, 70);
    assert_true(emit(&phases, NULL, 1, 5));
    phases_advance(&phases, 90);
    assert_true(emit(&phases, NULL, 2, 30));
    assert_int_equal(phases.list[0].peak_bytes, 70);
    assert_int_equal(phases.list[1].peak_bytes, 90);
    phases_done(&phases);
}

/* PS-3 */
TEST(one_too_many_is_unknown_until_another_ends)
{
    struct phases phases = {0};

    for (int64_t i = 1; i <= PHASES_OPEN; i++)
        assert_true(emit(&phases, "open", i, 0));
    assert_false(emit(&phases, "too many", PHASES_OPEN + 1, 0));
    assert_false(emit(&phases, NULL, PHASES_OPEN + 1, 0));
    assert_true(emit(&phases, NULL, 1, 0));
    assert_true(emit(&phases, "again", PHASES_OPEN + 2, 0));
    assert_int_equal(phases.n, PHASES_OPEN + 1);
    phases_done(&phases);
}

/* The i-th event: phases of three names that overlap, and end in the order in which they began. */
static void emit_many(struct phases *phases, uint64_t n)
{
    static const char *const names[] = {"odd", "even", "rare"};
    struct phase_numbers numbers = {0};
    bool is_known;

    for (uint64_t i = 0; i < n; i++) {
        struct event event = {
            .kind = EVENT_PHASE, .time_ns = 10 * i, .value = (int64_t)(i / 2 + 1)};
        numbers.allocated_blocks += i % 7;
        numbers.allocated_bytes += 16 * (i % 7);
        numbers.live_bytes = i % 13 * 100;
        if (i % 2 == 0)
            event.text = names[i % 50 == 0 ? 2 : i / 2 % 2];
        else if (i < 5)
            continue;
        else
            event.value -= 2;
        assert_int_equal(
            phases_event(phases, &event, &numbers, numbers.allocated_blocks, &is_known, NULL), 0);
        assert_true(is_known);
    }
    assert_int_equal(phases_finish(phases, &numbers, numbers.allocated_blocks, NULL), 0);
}

static uint64_t sum_of_rows(const struct phases *phases, const char *name, uint64_t *ret_n,
                            uint64_t *ret_peak_bytes)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < phases->n; i++) {
        const struct phase *phase = &phases->list[i];
        if (strcmp(phase->name, name) != 0)
            continue;
        bytes += phase->in_it.allocated_bytes;
        ++*ret_n;
        *ret_peak_bytes = phase->peak_bytes > *ret_peak_bytes ? phase->peak_bytes : *ret_peak_bytes;
    }
    return bytes;
}

/* PS-4: sums by name equal the sums of all rows, with or without rows; and rows are not changed by
 * the limit. */
TEST(sums_by_name_are_those_of_all_phases)
{
    enum {
        MOST = 20,
        N = 1000
    };
    struct phases all = {0};
    struct phases few = {.most = MOST};

    emit_many(&all, N);
    emit_many(&few, N);
    assert_int_equal(all.n, N / 2);
    assert_int_equal(few.n, MOST);
    assert_int_equal(few.n_left_out, N / 2 - MOST);
    assert_int_equal(few.n_passing, all.n_open);
    assert_int_equal(few.n_open, 0);
    assert_int_equal(few.n_names, 3);
    for (size_t i = 0; i < few.n; i++) {
        assert_int_equal(few.list[i].in_it.allocated_bytes, all.list[i].in_it.allocated_bytes);
        assert_int_equal(few.list[i].peak_bytes, all.list[i].peak_bytes);
        assert_int_equal(few.list[i].parent, all.list[i].parent);
    }
    for (size_t i = 0; i < few.n_names; i++) {
        uint64_t n = 0, peak_bytes = 0;
        uint64_t bytes = sum_of_rows(&all, phases_name(&few, i), &n, &peak_bytes);
        assert_int_equal(few.names[i].phases, n);
        assert_int_equal(few.names[i].allocated_bytes, bytes);
        assert_int_equal(few.names[i].peak_bytes, peak_bytes);
    }
    phases_done(&all);
    phases_done(&few);
}

TEST(names_beyond_those_that_are_reported_apart_are_one)
{
    struct phases phases = {.most = 1};
    char name[32];
    uint64_t n = 0;

    for (int64_t i = 1; i <= 2 * PHASES_NAMES; i++) {
        (void)snprintf(name, sizeof name, "request %d", (int)i);
        assert_true(emit(&phases, name, i, 0));
        assert_true(emit(&phases, NULL, i, 0));
    }
    assert_true(emit(&phases, "request 1", 1, 0));
    assert_true(emit(&phases, NULL, 1, 0));
    assert_int_equal(phases.n_names, PHASES_NAMES + 1);
    assert_int_equal(phases.names[0].phases, 2);
    assert_null(phases_name(&phases, PHASES_NAMES));
    for (size_t i = 0; i < phases.n_names; i++)
        n += phases.names[i].phases;
    assert_int_equal(n, 2 * PHASES_NAMES + 1);
    assert_int_equal(phases.names[PHASES_NAMES].phases, PHASES_NAMES);
    phases_done(&phases);
}
