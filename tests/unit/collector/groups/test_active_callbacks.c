/* SPDX-License-Identifier: MIT */
/* Threads inside of callbacks: any number of them, exited ones, jumps, forks. */
#include "collector/groups/active_callbacks.h"
#include "collector/os/sys.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/kernel.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MANY = 10000,
    WHAT = 77,
    ROOM_BYTES = 4096,
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

__attribute__((noinline)) static void show_and_return(struct callback *callback)
{
    active_callbacks_show(callback, WHAT, (uintptr_t)__builtin_frame_address(0), 0);
    assert_true(active_callbacks_anyone_in(WHAT, NULL));
}

__attribute__((noinline)) static void overwrite_stack(void)
{
    volatile unsigned char room[ROOM_BYTES];

    for (unsigned i = 0; i < ROOM_BYTES; i++)
        room[i] = 0x55;
    assert_int_equal(room[0], 0x55);
}

/* As after longjmp: the frame was left without any notice. */
TEST(a_thread_that_jumped_out_is_not_in_a_callback)
{
    struct callback *callback = active_callbacks_take();

    KERNEL_NEEDS(copies_own);
    show_and_return(callback);
    overwrite_stack();
    assert_false(active_callbacks_anyone_in(WHAT, NULL));
    active_callbacks_leave(callback);
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

TEST(a_child_knows_only_itself)
{
    struct callback *own = active_callbacks_take();
    struct callback *other = active_callbacks_take();
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    int status = -1;
    pid_t child;

    active_callbacks_show(own, WHAT, frame, 0);
    active_callbacks_show(other, WHAT + 1, frame, 0);
    child = fork();
    if (child == 0) {
        active_callbacks_forget(own);
        _exit(active_callbacks_anyone_in(WHAT, NULL) && !active_callbacks_anyone_in(WHAT + 1, NULL)
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    active_callbacks_leave(own);
    active_callbacks_leave(other);
}
