/* SPDX-License-Identifier: MIT */
#include "tests/unit/symbolizer/fixture.h"

#include <stdlib.h>
#include <string.h>

static inline __attribute__((always_inline)) char *grab(size_t size)
{
    return malloc(size);
}

static inline char *grab_clean(size_t size)
{
    char *block = grab(size);

    if (block)
        memset(block, 0, size);
    return block;
}

static __attribute__((noinline, cold)) int complain(int n)
{
    return -n;
}

int fixture_other_unit(int n)
{
    char *block = grab_clean((size_t)n + 1);
    int result = block ? (int)strlen(block) : complain(n);

    free(block);
    return result;
}
