/* SPDX-License-Identifier: MIT */
/* mallopt and malloc_trim, with their results. */
#include "tests/workloads/workload.h"

#include <malloc.h>

int main(void)
{
    int ok = mallopt(M_MMAP_THRESHOLD, 65536);
    ok += mallopt(M_TRIM_THRESHOLD, 1 << 20);
    ok += mallopt(M_ARENA_MAX, 2);
    void *block = own_malloc(100); /* with a mapping of its own, now */
    own_malloc(1);
    own_free(block, 100);
    free(keep(malloc(60000)));
    int trimmed = malloc_trim(0);
    expect("mallopts", 3);
    expect("malloc_trims", 1);
    expect("results", (unsigned long long)(ok + trimmed));
    expect_own();
    return 0;
}
