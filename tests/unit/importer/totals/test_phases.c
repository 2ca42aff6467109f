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

TEST(names_beyond_those_that_are_reported_apart_are_one)
{
    struct phases phases = {0};
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
