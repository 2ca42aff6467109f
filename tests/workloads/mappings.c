/* SPDX-License-Identifier: MIT */
/*
 * mmap, munmap and mremap that act on parts of mappings. Their protection PROT_READ distinguishes
 * them from the C library's.
 */
#include "tests/workloads/workload.h"

#include <stdbool.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#    define MREMAP_DONTUNMAP 4
#endif

static size_t page_bytes;

static char *map(void *where, size_t n_pages, int flags)
{
    char *pages =
        mmap(where, n_pages * page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (pages == MAP_FAILED)
        _exit(1);
    return pages;
}

int main(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);

    char *holed = map(NULL, 10, 0); /* pieces 3, 4, 3: the middle goes */
    munmap(holed + 3 * page_bytes, 4 * page_bytes);

    char *covered = map(NULL, 6, 0); /* pieces 2, 2 (covered by a new mapping), 2 */
    map(covered + 2 * page_bytes, 2, MAP_FIXED);

    char *grown = map(NULL, 4, 0); /* ends in mremap; 400 pages live on */
    grown = mremap(grown, 4 * page_bytes, 400 * page_bytes, MREMAP_MAYMOVE);

    char *shrunk = map(NULL, 8, 0); /* 5 live on */
    shrunk = mremap(shrunk, 8 * page_bytes, 5 * page_bytes, 0);

    char *first = map(NULL, 12, 0); /* one munmap over a mapping of two calls */
    map(first + 6 * page_bytes, 6, MAP_FIXED);
    munmap(first, 12 * page_bytes);

    char *kept = map(NULL, 7, 0); /* two live on; Linux before 5.7 refuses */
    bool is_twice =
        mremap(kept, 7 * page_bytes, 7 * page_bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL)
        != MAP_FAILED;

    if (grown == MAP_FAILED || shrunk == MAP_FAILED)
        return 1;
    expect("mapped_pages_live", 3 + 3 + 4 + 2 + 400 + 5 + 7 + (is_twice ? 7 : 0));
    expect("mmap_calls", 8);
    return 0;
}
