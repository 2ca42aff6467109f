/* SPDX-License-Identifier: MIT */
/* Allocates at the bottom of very deep stacks, and while they unwind. */
#include "tests/workloads/workload.h"

#include <sys/resource.h>

__attribute__((noinline)) static unsigned descend(unsigned depth)
{
    void *block = depth % 100 == 0 ? own_malloc(1) : NULL;
    unsigned below = depth > 0 ? descend(depth - 1) + 1 : 0;
    if (block != NULL && depth % 1000 != 0)
        own_free(block, 1);
    return below;
}

int main(void)
{
    unsigned long long frames = 0;
    for (int i = 0; i < 3; i++)
        frames += descend(30000);
    expect("frames", frames);
    expect("deepest", 30000);
    expect_own();
    return 0;
}
