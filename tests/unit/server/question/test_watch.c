/* SPDX-License-Identifier: MIT */
/* Who gets a turn when all are taken. */
#include "server/question/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static bool is_flag_set(const void *client)
{
    return *(const bool *)client;
}

static void do_nothing(void *question)
{
    (void)question;
}

/* Nobody waits for its answer: it is not asked, and takes no place. */
static void test_the_abandoned_get_no_turn(void **state)
{
    static const bool stays = false;
    static const bool is_gone = true;
    struct watched taken[WATCH_QUESTIONS];
    struct watched late = {
        .interrupt = do_nothing, .is_abandoned = is_flag_set, .client = &is_gone};
    struct watch *watch;

    (void)state;
    assert_int_equal(watch_start(&watch, NULL), 0);
    for (int i = 0; i < WATCH_QUESTIONS; i++) {
        taken[i] = (struct watched){
            .interrupt = do_nothing, .is_abandoned = is_flag_set, .client = &stays};
        assert_true(watch_begin(watch, &taken[i]));
    }
    assert_false(watch_begin(watch, &late));
    watch_end(watch, &taken[0]);
    assert_true(watch_begin(watch, &taken[0]));
    for (int i = 0; i < WATCH_QUESTIONS; i++)
        watch_end(watch, &taken[i]);
    watch_stop(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_abandoned_get_no_turn)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
