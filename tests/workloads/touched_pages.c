/* SPDX-License-Identifier: MIT */
/*
 * touched_pages [MS]: mappings of which some pages are touched: for a moment, scattered, as
 * neighbours that the kernel joins, before a part goes, after calls that fail, and just before the
 * end of the process; MS milliseconds pass between the last of these and the others. Each has a
 * number of pages of its own, and no huge pages.
 */
#include "tests/workloads/workload.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static size_t page_bytes;

static char *map(void *where, size_t n_pages, int flags)
{
    char *pages = mmap(where, n_pages * page_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    if (pages == MAP_FAILED)
        _exit(1);
    return pages;
}

static void touch(char *pages, size_t n_pages)
{
    memset(pages, 1, n_pages * page_bytes);
}

/* The same address is mapped again and again, and another part of it touched. */
static void for_a_moment(void)
{
    for (size_t i = 1; i <= 3; i++) {
        char *pages = map(NULL, 100 + i, 0);
        touch(pages + i * page_bytes, 20 * i);
        munmap(pages, (100 + i) * page_bytes);
    }
    munmap(map(NULL, 104, 0), 104 * page_bytes);
    expect("touched_101", 20);
    expect("touched_102", 40);
    expect("touched_103", 60);
    expect("touched_104", 0);
}

/* More runs of pages than are reported one by one. */
static void scattered(void)
{
    char *pages = map(NULL, 203, 0);

    for (size_t i = 0; i < 203; i += 4)
        pages[i * page_bytes] = 1;
    munmap(pages, 203 * page_bytes);
    expect("touched_203", 51);
}

static void neighbours(void)
{
    char *place = mmap(NULL, 272 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *first = map(place, 131, MAP_FIXED);
    char *second = map(first + 131 * page_bytes, 141, MAP_FIXED);

    touch(first, 30);
    touch(second + 21 * page_bytes, 120);
    expect("touched_131", 30);
    expect("touched_141", 120);
}

/* The middle is unmapped, with the pages in it. */
static void holed(void)
{
    char *pages = map(NULL, 160, 0);

    touch(pages, 12);
    touch(pages + 60 * page_bytes, 7);
    munmap(pages + 53 * page_bytes, 50 * page_bytes);
    touch(pages, 13);
    expect("touched_53", 13);
    expect("touched_50", 7);
    expect("touched_57", 0);
}

static void moved(void)
{
    char *pages = map(NULL, 90, 0);

    touch(pages, 20);
    pages = mremap(pages, 90 * page_bytes, 151 * page_bytes, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED)
        _exit(1);
    touch(pages + 100 * page_bytes, 5);
    expect("touched_90", 20);
    expect("touched_151", 25);
}

/* Too many untouched pages for a look. */
static void reserved(void)
{
    char *pages = map(NULL, 5003, 0);

    munmap(pages, 5003 * page_bytes);
    expect("looked_at_5003", 0);
    expect("unlooked", 2); /* and sparse() */
}

/* Only pages beyond the end of the look are unknown. */
static void sparse(void)
{
    char *pages = map(NULL, 9001, 0);

    for (size_t i = 0; i < 1500; i += 2)
        pages[i * page_bytes] = 1;
    munmap(pages, 9001 * page_bytes);
    expect("touched_9001", 750);
}

/* None of these calls unmaps anything. */
static void refused(void)
{
    char *pages = map(NULL, 170, 0);

    touch(pages, 10);
    if (munmap(pages + 1, 170 * page_bytes) == 0 || munmap(pages, 0) == 0
        || munmap(pages + 1, 0) == 0 || munmap(pages, SIZE_MAX / 2) == 0
        || munmap(pages, SIZE_MAX) == 0
        || mmap(pages, 170 * page_bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) != MAP_FAILED
        || mmap(pages + 1, 170 * page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0)
               != MAP_FAILED
        || mremap(pages + 1, 170 * page_bytes, 171 * page_bytes, MREMAP_MAYMOVE) != MAP_FAILED
        || mremap(pages, 170 * page_bytes, 0, MREMAP_MAYMOVE) != MAP_FAILED)
        _exit(1);
    touch(pages, 60);
    munmap(pages, 170 * page_bytes);
    expect("touched_170", 60);
}

int main(int argc, char **argv)
{
    char *last;

    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    for_a_moment();
    scattered();
    neighbours();
    holed();
    moved();
    reserved();
    sparse();
    refused();
    last = map(NULL, 117, 0);
    if (argc > 1)
        usleep((useconds_t)atoi(argv[1]) * 1000);
    touch(last, 71);
    expect("touched_117", 71);
    return 0;
}
