/* SPDX-License-Identifier: MIT */
/* Every aligning function with every valid alignment, and some invalid ones. */
#include "tests/workloads/workload.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

static unsigned long long n_misaligned;

static void check(void *block, size_t alignment, size_t size_bytes, int leak)
{
    if (block == NULL || (uintptr_t)block % alignment != 0
        || malloc_usable_size(block) < size_bytes)
        n_misaligned++;
    own_count_alloc(size_bytes);
    if (!leak) {
        own_count_free(size_bytes);
        free(keep(block));
    }
}

int main(void)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned log2 = 3; log2 <= 20; log2++) {
        size_t alignment = (size_t)1 << log2;
        void *block = NULL;
        if (posix_memalign(&block, alignment, OWN_BYTES(log2)) != 0)
            return 1;
        check(block, alignment, OWN_BYTES(log2), log2 == 12);
        check(aligned_alloc(alignment, OWN_BYTES(log2)), alignment, OWN_BYTES(log2), log2 == 6);
        check(memalign(alignment, OWN_BYTES(log2)), alignment, OWN_BYTES(log2), 0);
    }
    check(valloc(OWN_BYTES(1)), page_bytes, OWN_BYTES(1), 1);
    void *pages = pvalloc(OWN_BYTES(1));
    own_count_alloc(OWN_BYTES(1));
    own_count_free(OWN_BYTES(1));
    unsigned long long pvalloc_ok =
        (uintptr_t)pages % page_bytes == 0 && malloc_usable_size(pages) >= page_bytes;
    free(pages);

    void *untouched = &n_misaligned;
    volatile size_t bad_alignment = 24;
    int bad = posix_memalign(&untouched, bad_alignment, 100);
    expect("posix_memalign_of_24", (unsigned long long)bad);
    expect("untouched", untouched == &n_misaligned);
    expect("pvalloc_ok", pvalloc_ok);
    expect("misaligned", n_misaligned);
    expect_own();
    return n_misaligned == 0 && bad == EINVAL ? 0 : 1;
}
