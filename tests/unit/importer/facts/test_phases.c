/* SPDX-License-Identifier: MIT */
/* Phases that overlap, and more than may be open at once. */
#include "importer/facts/phases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static bool tell(struct phases *phases, const char *name, int64_t number, uint64_t live_bytes)
{
    struct event event = {.kind = EVENT_PHASE, .text = name, .value = number};
    struct phase_figures figures = {.live_bytes = live_bytes};
    bool is_known;

    assert_int_equal(phases_event(phases, &event, &figures, 0, &is_known, NULL), 0);
    return is_known;
}

/* a [10 . . . 5], b [. 20 . 30] and between them 70 for a moment: whoever was open had it. */
static void the_peak_is_of_all_that_were_open(void **state)
{
    struct phases phases = {0};

    (void)state;
    assert_true(tell(&phases, "a", 1, 10));
    phases_advance(&phases, 40);
    assert_true(tell(&phases, "b", 2, 20));
    phases_advance(&phases, 70);
    assert_true(tell(&phases, NULL, 1, 5));
    phases_advance(&phases, 90);
    assert_true(tell(&phases, NULL, 2, 30));
    assert_int_equal(phases.list[0].peak_bytes, 70);
    assert_int_equal(phases.list[1].peak_bytes, 90);
    phases_done(&phases);
}

/* PS-3 */
static void one_too_many_is_unknown_until_another_ends(void **state)
{
    struct phases phases = {0};

    (void)state;
    for (int64_t i = 1; i <= PHASES_OPEN; i++)
        assert_true(tell(&phases, "open", i, 0));
    assert_false(tell(&phases, "too many", PHASES_OPEN + 1, 0));
    assert_false(tell(&phases, NULL, PHASES_OPEN + 1, 0));
    assert_true(tell(&phases, NULL, 1, 0));
    assert_true(tell(&phases, "again", PHASES_OPEN + 2, 0));
    assert_int_equal(phases.n, PHASES_OPEN + 1);
    phases_done(&phases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_of_all_that_were_open),
        cmocka_unit_test(one_too_many_is_unknown_until_another_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
