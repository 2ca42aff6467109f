/* SPDX-License-Identifier: MIT */
/* Threads inside of callbacks: any number of them, and exited ones. */
#include "collector/groups/active_callbacks.h"
#include "collector/os/sys.h"
#include "tests/lib/unit.h"

#include <pthread.h>

enum {
    MANY = 10000,
    WHAT = 77,
};

static struct callback *g_places[MANY];

TEST(any_number_of_threads_are_inside)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    for (uint32_t i = 0; i < MANY; i++) {
        g_places[i] = active_callbacks_take();
        assert_non_null(g_places[i]);
        active_callbacks_show(g_places[i], i + 1, frame, 0);
    }
    for (uint32_t i = 0; i < MANY; i += 97)
        assert_true(active_callbacks_anyone_in(i + 1, NULL));
    assert_false(active_callbacks_anyone_in(MANY + 1, NULL));
    for (uint32_t i = 0; i < MANY; i++)
        active_callbacks_leave(g_places[i]);
    for (uint32_t i = 0; i < MANY; i += 97)
        assert_false(active_callbacks_anyone_in(i + 1, NULL));
}

static void *end_inside(void *argument)
{
    (void)argument;
    active_callbacks_show(active_callbacks_take(), WHAT, (uintptr_t)__builtin_frame_address(0), 0);
    return NULL;
}

TEST(a_thread_that_exits_leaves_its_callback)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, end_inside, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (unsigned i = 0; i < 1000 && active_callbacks_anyone_in(WHAT, NULL); i++)
        sys_nap(1000000);
    assert_false(active_callbacks_anyone_in(WHAT, NULL));
}
