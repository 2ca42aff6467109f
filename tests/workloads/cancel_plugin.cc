/* SPDX-License-Identifier: MIT */
/* A C++ plugin whose thread is cancelled while objects with destructors are on its stack. */
#include "tests/workloads/workload.h"

#include <time.h>

namespace
{
struct guard {
    int *n_destroyed;
    void *block;

    explicit guard(int *counter) : n_destroyed(counter), block(own_malloc(1))
    {
    }

    ~guard()
    {
        own_free(block, 1);
        ++*n_destroyed;
    }
};

void sleep_below(int depth, int *n_destroyed)
{
    guard on_stack(n_destroyed);
    if (depth > 0) {
        sleep_below(depth - 1, n_destroyed);
        return;
    }
    for (;;) {
        const timespec second = {1, 0};
        nanosleep(&second, nullptr);
    }
}
} /* namespace */

extern "C" void *plugin_thread(void *n_destroyed)
{
    sleep_below(9, static_cast<int *>(n_destroyed));
    return nullptr;
}

extern "C" void plugin_expect()
{
    expect_own();
}

extern "C" int plugin_throw(int value)
{
    try {
        guard on_stack(&value);
        throw value;
    } catch (int caught) {
        return caught;
    }
}
