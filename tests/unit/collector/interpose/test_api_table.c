/* SPDX-License-Identifier: MIT */
/* What the program is told when the log has no room: nothing is half done, and it goes on when there is room again. */
#include "api/mtrace.h"
#include "collector/log/segment.h"
#include "collector/platform/real.h"
#include "collector/record/record.h"
#include "collector/record/thread.h"
#include "tests/unit/collector/recording_fixture.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    N_SEGMENTS = 12,
    BYTES = 100,
    MOST_EVENTS = 1000000,
};

static struct log_fixture g_log;

static int begin_recording(void **state)
{
    static const struct config config = {.unwinder = CONFIG_UNWINDER_FAST};

    (void)state;
    g_real.malloc = malloc; /* ready */
    return recording_fixture_begin(&g_log, N_SEGMENTS, &config) ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

static void *take(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    void *block = malloc(BYTES);

    assert_non_null(block);
    record_alloc_known(block, BYTES, malloc_usable_size(block), LOG_CALL_MALLOC, 0, &origin);
    return block;
}

static void give_back(void *block)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_free(block, &origin);
    free(block);
}

/* Ends where the next record of any size is dropped. */
static void fill_log(void)
{
    for (unsigned i = 0; i < MOST_EVENTS && mtrace_counters().dropped == 0; i++)
        give_back(take());
    assert_true(mtrace_counters().dropped > 0);
}

/* As mtrace-record does with what it has read. */
static void make_room(void)
{
    uint64_t head = atomic_exchange(&g_log.file->sealed_stack, 0);

    for (uint32_t link = (uint32_t)head; link != 0;) {
        struct log_segment *segment = segment_at(link - 1);
        link = atomic_load(&segment->next);
        if (segment->kind != LOG_SEGMENT_EVENTS)
            continue;
        atomic_store(&segment->state, LOG_STATE_FREE);
        segment_add_free(segment->index, 1);
    }
}

static void a_move_that_is_not_in_the_log_did_not_happen(void **state)
{
    const uint32_t from = mtrace_group_intern("from", NULL, 0);
    const uint32_t to = mtrace_group_intern("to", NULL, 0);
    uint64_t n_dropped;
    struct mtrace_scope scope;
    void *block;

    (void)state;
    (void)mtrace_group_of(NULL);
    scope = mtrace_enter(from);
    block = take();
    mtrace_exit(scope);
    assert_int_equal(mtrace_group_of(block), from);
    assert_false(mtrace_move(NULL, to));
    assert_false(mtrace_move(block, UINT32_MAX));
    fill_log();
    n_dropped = mtrace_counters().dropped;
    errno = EXDEV;
    for (unsigned i = 0; i < 3; i++)
        assert_false(mtrace_move(block, to));
    assert_int_equal(errno, EXDEV);
    assert_int_equal(mtrace_counters().dropped, n_dropped + 3);
    assert_int_equal(mtrace_group_of(block), from); /* as the database will have it */
    make_room();
    assert_true(mtrace_move(block, to));
    assert_int_equal(mtrace_counters().dropped, n_dropped + 3);
    assert_int_equal(mtrace_group_of(block), to);
    assert_int_equal(g_thread.cursor[-2] & 0xff, LOG_MOVE);
    assert_int_equal(g_thread.cursor[-2] >> 32, to);
    give_back(block);
}

/* New groups, scopes, phases, markers and pools: the calls do what they do in the program, and what is lost is counted. */
static void without_room_the_program_goes_on(void **state)
{
    uint64_t n_dropped;
    struct mtrace_scope scope;
    uint32_t group;
    uint32_t pool;

    (void)state;
    for (unsigned i = 0; i < LOG_DROP_REASONS; i++)
        atomic_store(&g_log.file->dropped[i], 0);
    fill_log();
    n_dropped = mtrace_counters().dropped;
    group = mtrace_group_register("late", &(struct mtrace_tag){"key", "value"}, 1);
    assert_true(group > MTRACE_GROUP_ROOT);
    scope = mtrace_enter(group);
    assert_int_equal(mtrace_current_group(), group);
    mtrace_marker("not there");
    mtrace_phase_end(mtrace_phase_begin("nor this"));
    pool = mtrace_pool_create("nor these");
    mtrace_pool_alloc(pool, &pool, sizeof(pool));
    mtrace_pool_free(pool, &pool);
    mtrace_exit(scope);
    assert_int_equal(mtrace_current_group(), MTRACE_GROUP_ROOT);
    assert_true(mtrace_counters().dropped > n_dropped);
    assert_int_equal(mtrace_counters().stale_exits, 0);
    make_room();
    n_dropped = mtrace_counters().dropped;
    mtrace_marker("there");
    mtrace_pool_alloc(pool, &pool, sizeof(pool));
    assert_int_equal(g_thread.cursor[-3] & 0xff, LOG_POOL_ALLOC);
    assert_int_equal(mtrace_counters().dropped, n_dropped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_that_is_not_in_the_log_did_not_happen),
        cmocka_unit_test(without_room_the_program_goes_on),
    };

    return cmocka_run_group_tests_name("api_table", tests, begin_recording, finish);
}
